package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// Upstreams are stubs of Sanity and HubSpot, with the sample content.
type Upstreams struct {
	CMS *sanitytest.Server
	CRM *hubspottest.Server
}

// NewUpstreams starts both.
func NewUpstreams() *Upstreams {
	u := &Upstreams{CMS: sanitytest.New(sanitytest.Options{}), CRM: hubspottest.New(hubspottest.Options{})}
	var docs []json.RawMessage
	Check(json.Unmarshal(cmsfile.Sample(), &docs))
	Check(u.CMS.Replace(docs...))
	return u
}

// Close ends both.
func (u *Upstreams) Close() {
	u.CMS.Close()
	u.CRM.Close()
}

// Env returns the settings of a service that works with them, as fast as it can.
func (u *Upstreams) Env() []string {
	return []string{
		"CMS_DRIVER=sanity", "SANITY_PROJECT_ID=" + sanitytest.DefaultProject, "SANITY_DATASET=" + sanitytest.DefaultDataset,
		"SANITY_TOKEN=" + sanitytest.DefaultToken, "SANITY_API_URL=" + u.CMS.URL(),
		"CRM_DRIVER=hubspot", "HUBSPOT_TOKEN=" + hubspottest.Token, "HUBSPOT_API_URL=" + u.CRM.URL(),
		"DELIVERY_RETRY_MAX=1s", "DELIVERY_RATE=0",
	}
}

// FailRandomly makes a share of all calls fail: before and after they were carried out,
// with connections that break, with 5xx and with answers that are no JSON.
func (u *Upstreams) FailRandomly(rate float64, seed uint64) {
	u.CMS.FailRandomly(rate, seed,
		sanitytest.Fault{Mode: sanitytest.Reset}, sanitytest.Fault{Mode: sanitytest.Reset, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusBadGateway, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Truncated, Acted: true}, sanitytest.Fault{Mode: sanitytest.BrokenJSON, Acted: true},
	)
	u.CRM.FailRandomly(rate, seed+1,
		hubspottest.Reset(), hubspottest.Reset().AfterStoring(), hubspottest.Garbage(), hubspottest.Garbage().AfterStoring(),
		hubspottest.Answer(http.StatusBadGateway, nil).AfterStoring(), hubspottest.Answer(http.StatusServiceUnavailable, nil),
	)
}

// Recover ends all failing.
func (u *Upstreams) Recover() {
	u.CMS.Recover()
	u.CRM.Recover()
}

// Check compares what both hold with the submissions, by id with the visitor's address:
// one document and one contact for each, and nothing else.
func (u *Upstreams) Check(submitted map[string]string) error {
	documents := map[string]string{}
	for id, raw := range u.CMS.Documents() {
		if submission, ok := strings.CutPrefix(id, cms.SubmissionType+"."); ok {
			var d cms.StoredSubmission
			Check(json.Unmarshal(raw, &d))
			documents[submission] = d.Contact.Email
		}
	}
	contacts := map[string]string{}
	for _, c := range u.CRM.Contacts() {
		contacts[c.Properties[crm.PropSubmissionID]] = c.Properties[crm.PropEmail]
	}
	for system, holds := range map[string]map[string]string{"CMS": documents, "CRM": contacts} {
		if !maps.Equal(holds, submitted) {
			return fmt.Errorf("the %s holds %d submissions, %d were acknowledged", system, len(holds), len(submitted))
		}
	}
	if n := len(u.CRM.Contacts()); n != len(contacts) {
		return fmt.Errorf("the CRM holds %d contacts for %d submissions", n, len(contacts))
	}
	return nil
}
