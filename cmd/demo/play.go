package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Tokens that a service in development brings along.
const (
	cacheAuth   = "Authorization: Bearer dev-cache-token"
	webhookAuth = "Authorization: Bearer dev-webhook-secret"
)

// play is the whole demo.
type play struct {
	wire *wire
	out  io.Writer
	dir  string
	far  farEnd
	pdfs []string
	ids  []string
}

// visitor is one person on the site.
type visitor struct {
	locale, first, last, email, phone, company string
}

func visitors() []visitor {
	return []visitor{
		{"en", "Grace", "Okafor", "grace.okafor@example.com", "+44 20 7946 0100", "Harbour & Finch Ltd"},
		{"es", "Íñigo", "Muñoz Peña", "inigo.munoz@example.com", "+34 910 000 100", "Peña y Cañada, S.L."},
		{"ro", "Ștefania", "Țurcanu", "stefania.turcanu@example.com", "+40 21 555 0100", "Grădina Înflorită SRL"},
	}
}

func (p *play) all(ctx context.Context) error {
	p.say("The site's settings, as the frontend reads them")
	if _, err := p.wire.query(ctx, `{ SiteSettings(id: "siteSettings") { contactPhones { number label { en es ro } displayLocation } contactEmail address { city country } } }`); err != nil {
		return err
	}
	for _, v := range visitors() {
		if err := p.visit(ctx, v); err != nil {
			return err
		}
	}
	if err := p.edit(ctx); err != nil {
		return err
	}
	p.say("An operator clears the cache")
	if _, err := p.wire.send(ctx, http.MethodPost, "/api/cache/clear?pattern=content:*", "", cacheAuth); err != nil {
		return err
	}
	if _, err := p.wire.send(ctx, http.MethodGet, "/api/cache/clear", ""); err != nil {
		return err
	}
	return p.close(ctx)
}

// visit plays one visitor's session.
func (p *play) visit(ctx context.Context, v visitor) error {
	p.say(fmt.Sprintf("%s %s uses the calculator (%s)", v.first, v.last, v.locale))
	session := "demo-" + v.locale
	states := []map[string]any{
		{"selections": map[string]any{"projectType": "web-app"}},
		{"selections": map[string]any{"projectType": "web-app", "features": []string{"blog", "multilingual"}, "complexity": "medium"},
			"estimate": map[string]any{"min": 9000, "max": 14000, "currency": "EUR"}},
		{"selections": map[string]any{"projectType": "web-app", "features": []string{"blog", "multilingual", "payments"}, "complexity": "medium", "timeline": "1-3-months"},
			"estimate": map[string]any{"min": 12500, "max": 18750, "currency": "EUR"},
			"formData": map[string]any{"email": strings.SplitAfter(v.email, "@")[0], "firstName": v.first}},
	}
	for _, state := range states {
		state["sessionId"] = session
		if err := p.post(ctx, "/api/quote/track", state, nil); err != nil {
			return err
		}
	}
	final := states[len(states)-1]
	var answer struct{ SubmissionID, PdfURL string }
	err := p.post(ctx, "/api/quote/submit", map[string]any{
		"sessionId": session, "locale": v.locale, "selections": final["selections"], "estimate": final["estimate"],
		"contact": map[string]any{"firstName": v.first, "lastName": v.last, "email": v.email, "phone": v.phone, "company": v.company},
	}, &answer)
	if err != nil {
		return err
	}
	document, err := p.wire.send(ctx, http.MethodGet, answer.PdfURL, "")
	if err != nil {
		return err
	}
	path := filepath.Join(p.dir, "quote-"+v.locale+".pdf")
	p.pdfs, p.ids = append(p.pdfs, path), append(p.ids, answer.SubmissionID)
	return os.WriteFile(path, document, 0o600)
}

func (p *play) post(ctx context.Context, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	got, err := p.wire.send(ctx, http.MethodPost, path, string(data))
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(got, answer)
}

// edit plays an editor who changes a title, and reads it back.
func (p *play) edit(ctx context.Context) error {
	p.say("An editor changes the Romanian title, and the CMS calls its webhook")
	const ask = `{ content(documentType: "heroSection", locale: ro) { id fields } }`
	if _, err := p.wire.query(ctx, ask); err != nil {
		return err
	}
	title := "Titlu nou, publicat la " + time.Now().Format(time.TimeOnly)
	began := time.Now()
	announced, err := p.far.publish(ctx, p.wire.base, "heroSection-ro", title)
	if err != nil {
		return err
	}
	if !announced {
		began = time.Now()
		if _, err := p.wire.send(ctx, http.MethodPost, "/api/webhooks/cms",
			`{"_id":"heroSection-ro","_type":"heroSection","language":"ro"}`, webhookAuth); err != nil {
			return err
		}
	}
	data, err := p.wire.query(ctx, ask)
	if err != nil {
		return err
	}
	if strings.Contains(string(data), title) {
		p.say(fmt.Sprintf("The new title was in the first answer, %.1f ms after the webhook was sent", time.Since(began).Seconds()*1000))
		return nil
	}
	if !p.far.lags() {
		return errors.New("the changed title is not in the first answer after the webhook")
	}
	p.say("The CMS's own index lags behind its webhook: the service looks once more by itself")
	quiet := &wire{base: p.wire.base, out: io.Discard}
	for deadline := began.Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if data, err = quiet.query(ctx, ask); err != nil {
			return err
		}
		if strings.Contains(string(data), title) {
			p.say(fmt.Sprintf("The new title was served %.0f ms after the webhook was sent", time.Since(began).Seconds()*1000))
			return nil
		}
	}
	return errors.New("the changed title was never served")
}

// close waits for the deliveries and says where everything is.
func (p *play) close(ctx context.Context) error {
	delivered := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if delivered = p.far.delivered(p.ids); delivered == 2*len(p.ids) {
			break
		}
	}
	p.far.silence()
	p.say("Where things are")
	for _, path := range p.pdfs {
		_, _ = fmt.Fprintln(p.out, "  PDF      ", path)
	}
	for _, line := range p.far.places() {
		_, _ = fmt.Fprintln(p.out, "  "+line)
	}
	_, _ = fmt.Fprintln(p.out, "  log      ", filepath.Join(p.dir, "siteapi.log"))
	_, _ = fmt.Fprintf(p.out, "\nleads: %d stored, %d of %d deliveries made\n", len(p.ids), delivered, 2*len(p.ids))
	if delivered != 2*len(p.ids) {
		return errors.New("not every lead was delivered")
	}
	return nil
}

func (p *play) say(line string) { _, _ = fmt.Fprintf(p.out, "\n== %s\n", line) }
