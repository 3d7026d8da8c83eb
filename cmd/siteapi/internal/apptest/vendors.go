package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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

// Vendors are stubs of the CMS and the CRM.
type Vendors struct {
	T   *testing.T
	CMS *sanitytest.Server
	CRM *hubspottest.Server
}

// ReadToken is a token of the CMS that may only read.
const ReadToken = "hush-reader"

// NewVendors starts both stubs, the CMS with the sample content.
func NewVendors(t *testing.T) *Vendors {
	t.Helper()
	f := &Vendors{t, sanitytest.New(sanitytest.Options{ReadToken: ReadToken}), hubspottest.New(hubspottest.Options{})}
	t.Cleanup(f.CRM.Close)
	t.Cleanup(f.CMS.Close)

	var docs []json.RawMessage
	must(t, json.Unmarshal(cmsfile.Sample(), &docs))
	must(t, f.CMS.Replace(docs...))
	return f
}

// Env returns the settings of a service that uses the stubs. Settings in more take
// precedence.
func (f *Vendors) Env(more ...string) []string {
	return append([]string{
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID=" + sanitytest.Project,
		"SANITY_TOKEN=" + sanitytest.Token,
		"SANITY_API_URL=" + f.CMS.URL(),
		"CRM_DRIVER=hubspot",
		"HUBSPOT_TOKEN=" + hubspottest.Token,
		"HUBSPOT_API_URL=" + f.CRM.URL(),
		"DELIVERY_RATE=0",
	}, more...)
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
func (f *Vendors) Contacts(email string) []hubspottest.Record {
	return slices.DeleteFunc(f.CRM.Contacts(), func(c hubspottest.Record) bool {
		return c.Properties[crm.PropEmail] != email
	})
}

// NewLead returns the lead of a session with the address <session>@example.com. Changes
// are members of its JSON object, such as `"locale": "en"`; those of an object add to it.
func NewLead(session string, changes ...string) object {
	o := ValidLead(session)
	o["contact"].(object)["email"] = session + "@example.com"
	Change(o, changes...)
	return o
}

// Change sets members of a JSON object, which are given as JSON. Objects are merged.
func Change(o object, changes ...string) {
	for _, members := range changes {
		var set object
		if err := json.Unmarshal([]byte("{"+members+"}"), &set); err != nil {
			panic(fmt.Sprint(members, ": ", err))
		}
		merge(o, set)
	}
}

func merge(o, set object) {
	for name, value := range set {
		below, isObject := o[name].(object)
		if more, ok := value.(object); ok && isObject {
			merge(below, more)
		} else {
			o[name] = value
		}
	}
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
const Quick = "DELIVERY_RETRY_MAX=200ms"

// Command runs a command in this process with the settings of the service.
func (s *Service) Command(args ...string) (string, error) {
	s.T.Helper()
	var out bytes.Buffer
	c := app.NewCommand(Lookup(s.Env), &out)
	c.SetArgs(args)
	err := c.ExecuteContext(context.WithoutCancel(s.T.Context()))
	return out.String(), err
}

// Reaches waits until the delivery of a lead to a target has a state.
func (s *Service) Reaches(id string, target lead.Target, state lead.DeliveryState) {
	s.T.Helper()
	Eventually(s.T, fmt.Sprintf("the delivery to the %s is %s", target, state), func() bool {
		return s.Deliveries(id)[target].State == state
	})
}

// Prints fails unless a command of this process succeeds and prints strings, in this order.
func (s *Service) Prints(args string, texts ...string) Printed {
	s.T.Helper()
	out, err := s.Command(strings.Fields(args)...)
	if err != nil {
		s.T.Errorf("%s: %v", args, err)
	}
	return Printed{s.T, args, out}.with(texts)
}

// Deliveries returns the deliveries of a lead itself, by target.
func (s *Service) Deliveries(id string) map[lead.Target]lead.Delivery {
	s.T.Helper()
	list, err := s.App.Data.Store.ListDeliveries(context.WithoutCancel(s.T.Context()),
		store.DeliveryFilter{Leads: []string{id}, Event: lead.Created})
	must(s.T, err)

	byTarget := map[lead.Target]lead.Delivery{}
	for _, d := range list {
		byTarget[d.Target] = d
	}
	if len(byTarget) != len(list) {
		s.T.Errorf("a target has several deliveries of %s: %v", id, list)
	}
	return byTarget
}
