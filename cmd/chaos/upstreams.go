package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"strings"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/upstream/faulttest"
)

// salesMailbox receives a mail for each lead.
const salesMailbox = "sales@lumen-visitors.org"

// upstreams are stubs of Sanity and HubSpot, with the sample content.
type upstreams struct {
	cms  *sanitytest.Server
	crm  *hubspottest.Server
	mail *smtptest.Server // nil: mails are off
}

func newUpstreams() *upstreams {
	u := &upstreams{cms: sanitytest.New(sanitytest.Options{}), crm: hubspottest.New(hubspottest.Options{})}
	var docs []json.RawMessage
	harness.Check(json.Unmarshal(cmsfile.Sample(), &docs))
	harness.Check(u.cms.Replace(docs...))
	return u
}

func (u *upstreams) close() {
	u.cms.Close()
	u.crm.Close()
	if u.mail != nil {
		u.mail.Close()
	}
}

// env returns the settings of a service that uses the stubs and delivers at full speed.
func (u *upstreams) env() []string {
	var mails []string
	if u.mail != nil {
		mails = []string{
			"SMTP_URL=smtp://" + u.mail.Addr,
			"MAIL_FROM=quotes@lumen-visitors.org",
			"SALES_MAIL_TO=" + salesMailbox,
			"TRUSTED_PROXIES=127.0.0.1",
		}
	}
	return append(mails,
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID="+sanitytest.Project,
		"SANITY_DATASET="+sanitytest.Dataset,
		"SANITY_TOKEN="+sanitytest.Token,
		"SANITY_API_URL="+u.cms.URL(),
		"CRM_DRIVER=hubspot",
		"HUBSPOT_TOKEN="+hubspottest.Token,
		"HUBSPOT_API_URL="+u.crm.URL(),
		"HUBSPOT_DEAL_STAGE=default/appointmentscheduled",
		"DELIVERY_RETRY_MAX=1s",
		"DELIVERY_RATE=0",
	)
}

// failRandomly makes half of all calls fail, before and after they take effect: with
// broken connections, with 5xx and with invalid JSON.
func (u *upstreams) failRandomly() {
	faults := []faulttest.Fault{
		faulttest.Of(faulttest.Reset),
		faulttest.Of(faulttest.Reset).AfterActing(),
		faulttest.Respond(http.StatusBadGateway).AfterActing(),
		faulttest.Of(faulttest.Truncated).AfterActing(),
		faulttest.Of(faulttest.BrokenJSON),
	}
	u.cms.FailRandomly(0.5, 3, faults...)
	u.crm.FailRandomly(0.5, 4, faults...)

	u.mail.Fail(
		smtptest.Fault{Step: smtptest.Greeting, Mode: smtptest.Reset, Times: 50},
		smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Later, Times: 50},
		smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Reset, Times: 50},
	)
}

// check compares the data of the stubs with the leads, given as e-mail addresses by lead
// id. Each lead must have exactly one document, one contact, one deal associated with it,
// and one mail to the visitor and to sales.
func (u *upstreams) check(submitted map[string]string) error {
	documents, contacts := map[string]string{}, map[string]string{}
	for id, raw := range u.cms.Documents() {
		if leadID, ok := strings.CutPrefix(id, cms.LeadType+"."); ok {
			var d cms.LeadDocument
			harness.Check(json.Unmarshal(raw, &d))
			documents[leadID] = d.Contact.Email
		}
	}

	all := u.crm.Contacts()
	for _, c := range all {
		contacts[c.Properties[crm.PropLeadID]] = c.Properties[crm.PropEmail]
	}

	deals := map[string]string{}
	for _, d := range u.crm.Deals() {
		if _, twice := deals[d.Properties[crm.PropLeadID]]; twice || len(d.Contacts) != 1 {
			return fmt.Errorf("a second deal of a lead, or one with %d contacts", len(d.Contacts))
		}
		deals[d.Properties[crm.PropLeadID]] = d.Contacts[0]
	}

	if !maps.Equal(documents, submitted) || !maps.Equal(contacts, submitted) ||
		!maps.Equal(deals, submitted) || len(all) != len(contacts) {
		return fmt.Errorf("%d leads were acknowledged, the CMS has %d, the CRM %d in %d contacts, and %d deals",
			len(submitted), len(documents), len(contacts), len(all), len(deals))
	}
	if u.mail == nil {
		return nil
	}

	// A mail may arrive twice with the same id if the response was lost.
	messages, got := map[string]bool{}, map[string]int{}
	for _, m := range u.mail.Mails() {
		header := harness.Must(mail.ReadMessage(bytes.NewReader(m.Data))).Header
		to := m.To
		if to == salesMailbox {
			to += " of " + harness.Must(mail.ParseAddress(header.Get("Reply-To"))).Address
		}
		if id := header.Get("Message-ID"); !messages[id] {
			messages[id] = true
			got[to]++
		}
	}

	want := map[string]int{}
	for _, address := range submitted {
		want[address] = 1
		want[salesMailbox+" of "+address] = 1
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("for %d leads there are mails to %d addresses", len(submitted), len(got))
	}
	return nil
}
