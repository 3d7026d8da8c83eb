package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
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

// Vendors are stubs of the CMS and the CRM.
type Vendors struct {
	T   *testing.T
	CMS *sanitytest.Server
	CRM *hubspottest.Server
}

// NewVendors starts both stubs, the CMS with the sample content.
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

// Env returns the settings of a service that uses the stubs. Settings in more take
// precedence.
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

// Environ returns the settings of Env as the environment of a process.
func (f *Vendors) Environ(more ...map[string]string) []string {
	var list []string
	for name, value := range f.Env(more...) {
		list = append(list, name+"="+value)
	}
	return list
}

// Recover makes both stubs stop failing.
func (f *Vendors) Recover() {
	f.CMS.Recover()
	f.CRM.Recover()
}

// Documents returns the leads of a session in the CMS.
func (f *Vendors) Documents(session string) (found []cms.LeadDocument) {
	for _, raw := range f.CMS.Documents() {
		var d cms.LeadDocument
		if json.Unmarshal(raw, &d) == nil && d.Type == cms.LeadType && d.SessionID == session {
			found = append(found, d)
		}
	}
	return found
}

// Contacts returns the contacts of the CRM that have the given e-mail address.
func (f *Vendors) Contacts(email string) []hubspottest.Contact {
	return slices.DeleteFunc(f.CRM.Contacts(), func(c hubspottest.Contact) bool {
		return c.Properties[crm.PropEmail] != email
	})
}

// NewLead returns the lead of a session with the address <session>@example.com.
func NewLead(session string) object {
	o := ValidLead(session)
	o["contact"].(object)["email"] = session + "@example.com"
	return o
}

// CheckLead fails unless a lead has exactly one document in the CMS and one contact in
// the CRM. The drivers' tests check their fields.
func (f *Vendors) CheckLead(t *testing.T, session, id string) {
	t.Helper()
	docs := f.Documents(session)
	if len(docs) != 1 || docs[0].ID != "quoteSubmission."+id ||
		docs[0].Contact.Email != session+"@example.com" {
		t.Errorf("documents in the CMS: %+v", docs)
	}

	contacts := f.Contacts(session + "@example.com")
	if len(contacts) != 1 || contacts[0].Properties["quote_submission_id"] != id {
		t.Errorf("contacts in the CRM: %+v", contacts)
	}
}

// Quick shortens the retry pauses of the queue.
func Quick(s *Service) { s.Env["DELIVERY_RETRY_MAX"] = "200ms" }

// Command runs a command in this process with the settings of the service.
func (s *Service) Command(args ...string) (string, error) {
	s.T.Helper()
	var out bytes.Buffer
	c := app.NewCommand(func(name string) string { return s.Env[name] }, &out)
	c.SetArgs(args)
	err := c.ExecuteContext(context.WithoutCancel(s.T.Context()))
	return out.String(), err
}

// Deliveries returns the deliveries of a lead, by target.
func (s *Service) Deliveries(id string) map[lead.Target]lead.Delivery {
	s.T.Helper()
	list, err := s.App.Data.Store.ListDeliveries(context.WithoutCancel(s.T.Context()),
		store.DeliveryFilter{Leads: []string{id}})
	if err != nil {
		s.T.Error(err)
	}

	byTarget := map[lead.Target]lead.Delivery{}
	for _, d := range list {
		byTarget[d.Target] = d
	}
	if len(byTarget) != len(list) {
		s.T.Errorf("a target has several deliveries of %s: %v", id, list)
	}
	return byTarget
}
