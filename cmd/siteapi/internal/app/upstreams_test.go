package app

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// vendorStubs are stubs of both vendors.
type vendorStubs struct {
	t   *testing.T
	cms *sanitytest.Server
	crm *hubspottest.Server
}

// newVendorStubs starts both stubs, Sanity's with the sample content.
func newVendorStubs(t *testing.T, s sanitytest.Options, h hubspottest.Options) *vendorStubs {
	t.Helper()
	f := &vendorStubs{t, sanitytest.New(s), hubspottest.New(h)}
	t.Cleanup(f.crm.Close)
	t.Cleanup(f.cms.Close)

	var docs []json.RawMessage
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		t.Fatal(err)
	}
	if err := f.cms.Replace(docs...); err != nil {
		t.Fatal(err)
	}
	return f
}

// env returns the settings with which a service uses the stubs, and more.
func (f *vendorStubs) env(more ...map[string]string) map[string]string {
	env := map[string]string{
		"CMS_DRIVER":        "sanity",
		"SANITY_PROJECT_ID": sanitytest.Project,
		"SANITY_TOKEN":      sanitytest.Token,
		"SANITY_API_URL":    f.cms.URL(),
		"CRM_DRIVER":        "hubspot",
		"HUBSPOT_TOKEN":     hubspottest.Token,
		"HUBSPOT_API_URL":   f.crm.URL(),
		"DELIVERY_RATE":     "0",
	}

	for _, m := range more {
		maps.Copy(env, m)
	}
	return env
}

// environ returns env as the environment of a process.
func (f *vendorStubs) environ(more ...map[string]string) []string {
	var list []string
	for name, value := range f.env(more...) {
		list = append(list, name+"="+value)
	}
	return list
}

func (f *vendorStubs) recover() {
	f.cms.Recover()
	f.crm.Recover()
}

// documents returns the stored leads of a session.
func (f *vendorStubs) documents(session string) []cms.LeadDocument {
	f.t.Helper()
	var found []cms.LeadDocument
	for id, raw := range f.cms.Documents() {
		var d cms.LeadDocument
		if !strings.HasPrefix(id, cms.LeadType+".") {
			continue
		}

		if err := json.Unmarshal(raw, &d); err != nil {
			f.t.Error(err)
		}
		if d.SessionID == session {
			found = append(found, d)
		}
	}
	return found
}

// contacts returns the contacts with an e-mail address.
func (f *vendorStubs) contacts(email string) []hubspottest.Contact {
	var found []hubspottest.Contact
	for _, c := range f.crm.Contacts() {
		if c.Properties[crm.PropEmail] == email {
			found = append(found, c)
		}
	}
	return found
}

// faults counts the requests that were made to fail.
func (f *vendorStubs) faults() (inCMS, inCRM int) {
	for _, r := range f.cms.Requests() {
		if r.Fault != "" && r.API == "mutate" {
			inCMS++
		}
	}
	for _, r := range f.crm.Requests() {
		if r.Fault != "" {
			inCRM++
		}
	}
	return inCMS, inCRM
}

// newLead returns the lead of a session, with an e-mail address of its own.
func newLead(session string) object {
	o := validLead(session)
	o["contact"].(object)["email"] = session + "@example.com"
	return o
}

// checkLead fails unless a lead has exactly one document and one contact, which hold the
// submitted values.
func (f *vendorStubs) checkLead(t *testing.T, session, id string) {
	t.Helper()
	docs := f.documents(session)
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

	contacts := f.contacts(session + "@example.com")
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

// quick shortens the pauses of the queue below what DELIVERY_RETRY_MAX may be.
func quick(d *deliveries) { d.retryMax = 200 * time.Millisecond }

// siteapi runs a command in this process beside the service, with its settings.
func (s *service) siteapi(args ...string) (string, error) {
	s.t.Helper()
	var out bytes.Buffer
	c := NewCommand(func(name string) string { return s.env[name] }, &out)
	c.SetArgs(args)
	err := c.ExecuteContext(context.WithoutCancel(s.t.Context()))
	return out.String(), err
}

// submit submits a lead and returns its id.
func (s *service) submit(t *testing.T, session string) string {
	t.Helper()
	got := s.through("REST", "submitQuote", object{"input": newLead(session)})
	id, _ := got.data["submissionId"].(string)
	if id == "" {
		t.Fatalf("submitting: %d %s", got.status, got.raw)
	}
	return id
}

// deliveries returns the deliveries of a lead, by target.
func (s *service) deliveries(id string) map[lead.Target]lead.Delivery {
	s.t.Helper()
	list, err := s.app.data.Tables.ListDeliveries(context.WithoutCancel(s.t.Context()),
		store.DeliveryFilter{Leads: []string{id}})
	if err != nil {
		s.t.Error(err)
	}

	byTarget := map[lead.Target]lead.Delivery{}
	for _, d := range list {
		if _, again := byTarget[d.Target]; again {
			s.t.Errorf("a second delivery of %s to the %s: %v", id, d.Target, list)
		}
		byTarget[d.Target] = d
	}
	return byTarget
}
