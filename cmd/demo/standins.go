package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// Secrets of the webhook between the stand-in and the service.
const (
	webhookToken   = "dev-webhook-secret"
	webhookSigning = "demo-signing-secret"
)

// indexLag is how long after a publication the stand-in's queries still see the old
// document, as those of the original do.
const indexLag = 800 * time.Millisecond

// standIns are local copies of the vendors' services, which speak their protocols and
// show what goes over the wire.
type standIns struct {
	out io.Writer
	cms *sanitytest.Server
	crm *hubspottest.Server

	silent atomic.Bool
}

// newStandIns starts both, Sanity's with the sample content.
func newStandIns(out io.Writer) (farEnd, error) {
	s := &standIns{out: out}
	s.cms = sanitytest.New(sanitytest.Options{IndexLag: indexLag, Observe: func(r sanitytest.Request) {
		s.show("Sanity ", r.Method, r.Path, r.Params, r.Status, string(r.Body))
	}})
	s.crm = hubspottest.New(hubspottest.Options{Watch: func(r hubspottest.Request) {
		s.show("HubSpot", r.Method, r.Path, r.Query, r.Status, r.Body)
	}})
	var docs []json.RawMessage
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		return nil, fmt.Errorf("reading the sample content: %w", err)
	}
	return s, s.cms.Replace(docs...)
}

// Bounds of what is shown of a request, in characters.
const (
	queryShown = 120
	bodyShown  = 240
)

// show prints one request that a far end has answered, in one piece.
func (s *standIns) show(system, method, path string, params url.Values, status int, body string) {
	if s.silent.Load() {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "      ⇢ %s %s %s", system, method, path)
	if query, err := url.QueryUnescape(params.Encode()); err == nil && query != "" {
		text.WriteString("?" + cut(query, queryShown))
	}
	fmt.Fprintf(&text, " → %d %s\n", status, http.StatusText(status))
	if body != "" {
		fmt.Fprintf(&text, "                %s\n", cut(body, bodyShown))
	}
	_, _ = io.WriteString(s.out, text.String())
}

func (s *standIns) settings() []string {
	return []string{
		"CMS_DRIVER=sanity", "SANITY_PROJECT_ID=" + sanitytest.DefaultProject, "SANITY_DATASET=" + sanitytest.DefaultDataset,
		"SANITY_TOKEN=" + sanitytest.DefaultToken, "SANITY_API_URL=" + s.cms.URL(), "CMS_WEBHOOK_SIGNING_SECRET=" + webhookSigning,
		"CRM_DRIVER=hubspot", "HUBSPOT_TOKEN=" + hubspottest.Token, "HUBSPOT_API_URL=" + s.crm.URL(),
	}
}

// publish changes the title of a document, and has the stand-in call the webhook.
func (s *standIns) publish(ctx context.Context, base, id, title string) (announced bool, err error) {
	var doc map[string]any
	if err := json.Unmarshal(s.cms.Documents()[id], &doc); err != nil {
		return false, fmt.Errorf("the stand-in has no document %s: %w", id, err)
	}
	doc["title"], doc["_updatedAt"] = title, time.Now().UTC().Format(time.RFC3339)
	raw, err := json.Marshal(doc)
	if err != nil {
		return false, err
	}
	status, err := s.cms.Publish(ctx, raw, sanitytest.Webhook{
		URL: base + "/api/webhooks/cms", Token: webhookToken, Secret: webhookSigning, Tries: 3, Wait: time.Second,
	})
	if err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(s.out, "      ⇠ Sanity  POST /api/webhooks/cms, signed, with the document as its body → %d %s\n", status, http.StatusText(status))
	if status != http.StatusOK {
		return false, fmt.Errorf("the webhook was answered with %d", status)
	}
	return true, nil
}

// silence shows no traffic any more.
func (s *standIns) silence() { s.silent.Store(true) }

// lags says that queries see a publication a while after its webhook.
func (s *standIns) lags() bool { return true }

// delivered counts submissions that both stand-ins hold.
func (s *standIns) delivered(submissions []string) int {
	n, docs, contacts := 0, s.cms.Documents(), s.crm.Contacts()
	for _, id := range submissions {
		if _, ok := docs["quoteSubmission."+id]; ok {
			n++
		}
		for _, c := range contacts {
			if c.Properties["quote_submission_id"] == id {
				n++
			}
		}
	}
	return n
}

func (s *standIns) places() []string {
	var lines []string
	for id := range s.cms.Documents() {
		if strings.HasPrefix(id, "quoteSubmission.") {
			lines = append(lines, "CMS       "+id)
		}
	}
	for _, c := range s.crm.Contacts() {
		lines = append(lines, fmt.Sprintf("CRM       contact %s: %s, %s to %s %s, %s", c.ID, c.Properties["email"],
			c.Properties["quote_min"], c.Properties["quote_max"], c.Properties["quote_currency"], c.Properties["quote_pdf_url"]))
	}
	return lines
}

func (s *standIns) close() error {
	s.cms.Close()
	s.crm.Close()
	return nil
}
