package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Vendors are stubs of both vendors.
type Vendors struct {
	T   *testing.T
	CMS *sanitytest.Server
	CRM *hubspottest.Server
}

// NewVendors starts both stubs, Sanity's with the sample content.
func NewVendors(t *testing.T, s sanitytest.Options, h hubspottest.Options) *Vendors {
	t.Helper()
	f := &Vendors{t, sanitytest.New(s), hubspottest.New(h)}
	t.Cleanup(f.CRM.Close)
	t.Cleanup(f.CMS.Close)

	var docs []json.RawMessage
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		t.Fatal(err)
	}
	if err := f.CMS.Replace(docs...); err != nil {
		t.Fatal(err)
	}
	return f
}

// Env returns the settings with which a service uses the stubs, and more.
func (f *Vendors) Env(more ...map[string]string) map[string]string {
	env := map[string]string{
		"CMS_DRIVER":        "sanity",
		"SANITY_PROJECT_ID": sanitytest.Project,
		"SANITY_TOKEN":      sanitytest.Token,
		"SANITY_API_URL":    f.CMS.URL(),
		"CRM_DRIVER":        "hubspot",
		"HUBSPOT_TOKEN":     hubspottest.Token,
		"HUBSPOT_API_URL":   f.CRM.URL(),
		"DELIVERY_RATE":     "0",
	}

	for _, m := range more {
		maps.Copy(env, m)
	}
	return env
}

// Environ returns env as the environment of a process.
func (f *Vendors) Environ(more ...map[string]string) []string {
	var list []string
	for name, value := range f.Env(more...) {
		list = append(list, name+"="+value)
	}
	return list
}

// Recover ends the faults of both vendors.
func (f *Vendors) Recover() {
	f.CMS.Recover()
	f.CRM.Recover()
}

// Documents returns the stored leads of a session.
func (f *Vendors) Documents(session string) []cms.LeadDocument {
	f.T.Helper()
	var found []cms.LeadDocument
	for id, raw := range f.CMS.Documents() {
		var d cms.LeadDocument
		if !strings.HasPrefix(id, cms.LeadType+".") {
			continue
		}

		if err := json.Unmarshal(raw, &d); err != nil {
			f.T.Error(err)
		}
		if d.SessionID == session {
			found = append(found, d)
		}
	}
	return found
}

// Contacts returns the contacts with an e-mail address.
func (f *Vendors) Contacts(email string) []hubspottest.Contact {
	var found []hubspottest.Contact
	for _, c := range f.CRM.Contacts() {
		if c.Properties[crm.PropEmail] == email {
			found = append(found, c)
		}
	}
	return found
}

// NewLead returns the lead of a session, with an e-mail address of its own.
func NewLead(session string) object {
	o := ValidLead(session)
	o["contact"].(object)["email"] = session + "@example.com"
	return o
}

// CheckLead fails unless a lead has exactly one document and one contact, which hold the
// submitted values.
func (f *Vendors) CheckLead(t *testing.T, session, id string) {
	t.Helper()
	docs := f.Documents(session)
	if len(docs) != 1 {
		t.Errorf("%d documents, want 1", len(docs))
		return
	}

	d := docs[0]
	if d.ID != "quoteSubmission."+id || d.LeadID != id || d.Type != "quoteSubmission" ||
		d.Contact.Email != session+"@example.com" || d.Contact.LastName != "Ionescu" ||
		d.Contact.Company != "Țară SRL" || d.Estimate.Max != 20400.5 ||
		d.Selections.Timeline != "3-months" || d.Locale != "ro" {
		t.Errorf("the document is %+v", d)
	}

	contacts := f.Contacts(session + "@example.com")
	if len(contacts) != 1 {
		t.Errorf("%d contacts, want 1", len(contacts))
		return
	}

	want := map[string]string{
		"email":                   session + "@example.com",
		"firstname":               "Ana",
		"lastname":                "Ionescu",
		"phone":                   "+40 721 000 000",
		"quote_contact_created":   "true",
		"quote_contact_firstname": "Ana",
		"quote_contact_lastname":  "Ionescu",
		"quote_contact_phone":     "+40 721 000 000",
		"quote_contact_company":   "Țară SRL",
		"quote_project_type":      "web-app",
		"quote_features":          "blog;shop",
		"quote_complexity":        "medium",
		"quote_timeline":          "3-months",
		"quote_min":               "15100",
		"quote_max":               "20400.5",
		"quote_currency":          "EUR",
		"quote_submission_id":     id,
		"quote_pdf_url":           "/api/quote/pdf?id=" + id,
		"company":                 "Țară SRL",
	}

	if d.PriceStatus != "" { // The content has rules for prices.
		want["quote_price_status"] = string(d.PriceStatus)
	}

	got := maps.Clone(contacts[0].Properties)
	if got["quote_submitted_at"] == "" {
		t.Error("the contact has no quote_submitted_at")
	}
	delete(got, "quote_submitted_at")
	if !maps.Equal(got, want) {
		t.Errorf("the contact holds %v\nwant %v", got, want)
	}
}

// Quick shortens the pauses of the queue.
func Quick(s *Service) { s.Env["DELIVERY_RETRY_MAX"] = "200ms" }

// Command runs a command in this process beside the service, with its settings.
func (s *Service) Command(args ...string) (string, error) {
	s.T.Helper()
	var out bytes.Buffer
	c := app.NewCommand(func(name string) string { return s.Env[name] }, &out)
	c.SetArgs(args)
	err := c.ExecuteContext(context.WithoutCancel(s.T.Context()))
	return out.String(), err
}

// Submit submits a lead and returns its id.
func (s *Service) Submit(t *testing.T, session string) string {
	t.Helper()
	got := s.Through("REST", "submitQuote", object{"input": NewLead(session)})
	id, _ := got.Data["submissionId"].(string)
	if id == "" {
		t.Fatalf("submitting: %d %s", got.Status, got.Raw)
	}
	return id
}

// Deliveries returns the deliveries of a lead, by target.
func (s *Service) Deliveries(id string) map[lead.Target]lead.Delivery {
	s.T.Helper()
	list, err := s.App.Data.Tables.ListDeliveries(context.WithoutCancel(s.T.Context()),
		store.DeliveryFilter{Leads: []string{id}})
	if err != nil {
		s.T.Error(err)
	}

	byTarget := map[lead.Target]lead.Delivery{}
	for _, d := range list {
		if _, again := byTarget[d.Target]; again {
			s.T.Errorf("a second delivery of %s to the %s: %v", id, d.Target, list)
		}
		byTarget[d.Target] = d
	}
	return byTarget
}
