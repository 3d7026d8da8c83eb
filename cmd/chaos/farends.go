package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// farEnds are the CMS and the CRM of a scenario, which fail as they are told to.
type farEnds struct {
	cms                 *sanitytest.Server
	crm                 *hubspottest.Server
	cmsCalls, cmsFailed atomic.Int64
	crmCalls, crmFailed atomic.Int64
}

// newFarEnds starts both, the CMS with the sample content.
func newFarEnds() (*farEnds, error) {
	f := &farEnds{}
	f.cms = sanitytest.New(sanitytest.Options{Observe: func(r sanitytest.Request) { count(&f.cmsCalls, &f.cmsFailed, string(r.Fault)) }})
	f.crm = hubspottest.New(hubspottest.Options{
		Watch: func(r hubspottest.Request) { count(&f.crmCalls, &f.crmFailed, r.Fault) },
	})
	var docs []json.RawMessage
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		return nil, err
	}
	return f, f.cms.Replace(docs...)
}

func count(calls, failed *atomic.Int64, fault string) {
	calls.Add(1)
	if fault != "" {
		failed.Add(1)
	}
}

// settings is what a service needs to work with them.
func (f *farEnds) settings() []string {
	return []string{
		"CMS_DRIVER=sanity", "SANITY_PROJECT_ID=" + sanitytest.DefaultProject, "SANITY_DATASET=" + sanitytest.DefaultDataset,
		"SANITY_TOKEN=" + sanitytest.DefaultToken, "SANITY_API_URL=" + f.cms.URL(),
		"CRM_DRIVER=hubspot", "HUBSPOT_TOKEN=" + hubspottest.Token, "HUBSPOT_API_URL=" + f.crm.URL(),
	}
}

// failAtRandom lets a share of all calls fail from now on.
func (f *farEnds) failAtRandom(rate float64, seed uint64) {
	f.cms.FailRandomly(rate, seed,
		sanitytest.Fault{Mode: sanitytest.Reset}, sanitytest.Fault{Mode: sanitytest.Reset, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusInternalServerError},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusBadGateway, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusServiceUnavailable},
		sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusTooManyRequests},
		sanitytest.Fault{Mode: sanitytest.HTML, Status: http.StatusBadGateway},
		sanitytest.Fault{Mode: sanitytest.Truncated, Acted: true}, sanitytest.Fault{Mode: sanitytest.BrokenJSON, Acted: true},
		sanitytest.Fault{Mode: sanitytest.Partial},
	)
	// Not among them: rate limits, whose waits would only make the run longer, and what
	// costs a time-out.
	f.crm.FailRandomly(rate, seed+1,
		hubspottest.Reset(), hubspottest.Reset().AfterStoring(), hubspottest.Answer(http.StatusInternalServerError, nil),
		hubspottest.Answer(http.StatusBadGateway, nil).AfterStoring(), hubspottest.Answer(http.StatusServiceUnavailable, nil),
		hubspottest.Answer(http.StatusGatewayTimeout, nil).AfterStoring(), hubspottest.Garbage(), hubspottest.Garbage().AfterStoring(),
	)
}

// recovers ends all failing.
func (f *farEnds) recovers() {
	f.cms.Recover()
	f.crm.Recover()
}

func (f *farEnds) close() {
	f.cms.Close()
	f.crm.Close()
}

// documents returns the stored submissions.
func (f *farEnds) documents() ([]cms.StoredSubmission, error) {
	var docs []cms.StoredSubmission
	for id, raw := range f.cms.Documents() {
		if !strings.HasPrefix(id, cms.SubmissionType+".") {
			continue
		}
		var d cms.StoredSubmission
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// tally is what both far ends hold, compared with what they should.
type tally struct {
	documents, contacts int
	duplicates          int // documents and contacts beyond one for each lead
	wrong               int // leads of which a value is not the one submitted
}

// compare counts what the far ends hold of the leads.
func (f *farEnds) compare(all []*lead) (tally, error) {
	docs, err := f.documents()
	if err != nil {
		return tally{}, err
	}
	contacts := f.crm.Contacts()
	t := tally{documents: len(docs), contacts: len(contacts)}
	bySession, byEmail := map[string]cms.StoredSubmission{}, map[string]hubspottest.Contact{}
	for _, d := range docs {
		if _, again := bySession[d.SessionID]; again {
			t.duplicates++
		}
		bySession[d.SessionID] = d
	}
	for _, c := range contacts {
		email := crm.Address(c.Properties[crm.PropEmail])
		if _, again := byEmail[email]; again {
			t.duplicates++
		}
		byEmail[email] = c
	}
	for _, l := range all {
		var sent cms.StoredSubmission
		if err := json.Unmarshal(l.body, &sent); err != nil {
			return t, err
		}
		d, c := bySession[l.session], byEmail[l.email].Properties
		if d.SubmissionID != l.id || d.Contact != sent.Contact || d.Estimate != sent.Estimate || d.Locale != sent.Locale ||
			c[crm.PropSubmissionID] != l.id || c[crm.PropLastName] != sent.Contact.LastName ||
			c[crm.PropFeatures] != strings.Join(sent.Selections.Features, ";") || c[crm.PropCurrency] != sent.Estimate.Currency {
			t.wrong++
		}
	}
	return t, nil
}
