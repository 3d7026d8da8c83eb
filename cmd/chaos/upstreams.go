package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// upstreams are stubs of Sanity and HubSpot, with the sample content.
type upstreams struct {
	cms *sanitytest.Server
	crm *hubspottest.Server
}

func newUpstreams() *upstreams {
	u := &upstreams{sanitytest.New(sanitytest.Options{}), hubspottest.New(hubspottest.Options{})}
	var docs []json.RawMessage
	harness.Check(json.Unmarshal(cmsfile.Sample(), &docs))
	harness.Check(u.cms.Replace(docs...))
	return u
}

// env returns the settings of a service that uses both stubs and delivers at full speed.
func (u *upstreams) env() []string {
	return []string{
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID=" + sanitytest.DefaultProject,
		"SANITY_DATASET=" + sanitytest.DefaultDataset,
		"SANITY_TOKEN=" + sanitytest.DefaultToken,
		"SANITY_API_URL=" + u.cms.URL(),
		"CRM_DRIVER=hubspot",
		"HUBSPOT_TOKEN=" + hubspottest.Token,
		"HUBSPOT_API_URL=" + u.crm.URL(),
		"DELIVERY_RETRY_MAX=1s",
		"DELIVERY_RATE=0",
	}
}

// failRandomly makes half of all calls fail: before and after they were carried out, with
// broken connections, with 5xx and with answers that are not JSON.
func (u *upstreams) failRandomly() {
	u.cms.FailRandomly(0.5, 3,
		sanitytest.Fault{Mode: sanitytest.Reset},
		sanitytest.Fault{Mode: sanitytest.Reset, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusBadGateway, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Truncated, Acted: true},
		sanitytest.Fault{Mode: sanitytest.BrokenJSON, Acted: true},
	)

	u.crm.FailRandomly(0.5, 4,
		hubspottest.Reset(),
		hubspottest.Reset().AfterStoring(),
		hubspottest.Garbage(),
		hubspottest.Garbage().AfterStoring(),
		hubspottest.Answer(http.StatusBadGateway, nil).AfterStoring(),
		hubspottest.Answer(http.StatusServiceUnavailable, nil),
	)
}

// check compares the contents of both stubs with the leads, given as email
// addresses by lead id: each must have one document and one contact, with no
// others.
func (u *upstreams) check(submitted map[string]string) error {
	documents, contacts := map[string]string{}, map[string]string{}
	for id, raw := range u.cms.Documents() {
		if submission, ok := strings.CutPrefix(id, cms.LeadType+"."); ok {
			var d cms.LeadDocument
			harness.Check(json.Unmarshal(raw, &d))
			documents[submission] = d.Contact.Email
		}
	}

	all := u.crm.Contacts()
	for _, c := range all {
		contacts[c.Properties[crm.PropLeadID]] = c.Properties[crm.PropEmail]
	}

	if !maps.Equal(documents, submitted) || !maps.Equal(contacts, submitted) || len(all) != len(contacts) {
		return fmt.Errorf("%d submissions were acknowledged, the CMS holds %d, the CRM %d in %d contacts",
			len(submitted), len(documents), len(contacts), len(all))
	}
	return nil
}
