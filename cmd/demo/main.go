// Command demo starts the service on a fresh data folder and plays what happens on a
// site: a visitor in each language who uses the calculator, submits and fetches the
// PDF; an editor who changes the content; an operator who clears the cache. It prints
// what goes over the wire and, at the end, where everything is.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// play is one run of the demo.
type play struct {
	service   *harness.Service
	upstreams *harness.Upstreams // nil: leads go to files
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	binary := flags.String("binary", "bin/siteapi", "the service")
	drivers := flags.String("drivers", "file", "file: leads go to files; real: to local stubs of Sanity and HubSpot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "siteapi-demo-")
	if err != nil {
		return err
	}
	p := &play{}
	env := []string{"CONTENT_TYPES=heroSection", "CMS_FILE=" + filepath.Join(dir, "content.json")}
	if *drivers == "real" {
		p.upstreams, err = harness.NewUpstreams(
			sanitytest.Options{Observe: func(r sanitytest.Request) { received("Sanity", r.Method, r.Path, r.Status) }},
			hubspottest.Options{Watch: func(r hubspottest.Request) { received("HubSpot", r.Method, r.Path, r.Status) }},
		)
		if err != nil {
			return err
		}
		defer p.upstreams.Close()
		env = append(env, p.upstreams.Env()...)
	} else if err := os.WriteFile(filepath.Join(dir, "content.json"), cmsfile.Sample(), 0o600); err != nil {
		return err
	}
	if p.service, err = harness.New(*binary, dir, env...); err != nil {
		return err
	}
	if *drivers == "real" {
		if _, err := p.service.Command(ctx, "crm", "setup"); err != nil {
			return err
		}
	}
	if err := p.service.Run(ctx); err != nil {
		return err
	}
	defer p.service.Stop(syscall.SIGTERM)
	return p.all(ctx)
}

// received prints a request that a stub has answered.
func received(system, method, path string, status int) {
	fmt.Printf("      ⇢ %-7s %s %s → %d\n", system, method, path, status)
}

// all plays every scene.
func (p *play) all(ctx context.Context) error {
	scene("The site's settings, as the frontend reads them")
	if _, err := p.query(ctx, `{ SiteSettings(id: "siteSettings") { contactPhones { number label { en es ro } } contactEmail } }`); err != nil {
		return err
	}
	for _, v := range []visitor{
		{"en", "Grace", "Okafor", "grace.okafor@example.com"}, {"es", "Íñigo", "Muñoz Peña", "inigo.munoz@example.com"},
		{"ro", "Ștefania", "Țurcanu", "stefania.turcanu@example.com"},
	} {
		if err := p.visit(ctx, v); err != nil {
			return err
		}
	}
	if err := p.publish(ctx); err != nil {
		return err
	}
	scene("An operator clears the cache")
	if _, err := p.send(ctx, http.MethodPost, "/api/cache/clear?pattern=content:*", "", "Authorization: Bearer "+harness.CacheToken); err != nil {
		return err
	}
	return p.finish(ctx)
}

// visitor is one person on the site.
type visitor struct{ locale, first, last, email string }

// visit plays one visitor's session.
func (p *play) visit(ctx context.Context, v visitor) error {
	scene(fmt.Sprintf("%s %s uses the calculator (%s)", v.first, v.last, v.locale))
	const chosen = `"selections":{"projectType":"web-app","features":["blog","multilingual"],"complexity":"medium"},
		"estimate":{"min":9000,"max":14000,"currency":"EUR"}`
	for _, state := range []string{`"selections":{"projectType":"web-app"}`, chosen} {
		if _, err := p.send(ctx, http.MethodPost, "/api/quote/track", `{"sessionId":"demo-`+v.locale+`",`+state+`}`); err != nil {
			return err
		}
	}
	contact, err := json.Marshal(map[string]string{"firstName": v.first, "lastName": v.last, "email": v.email})
	if err != nil {
		return err
	}
	data, err := p.send(ctx, http.MethodPost, "/api/quote/submit",
		fmt.Sprintf(`{"sessionId":"demo-%s","locale":"%s","contact":%s,%s}`, v.locale, v.locale, contact, chosen))
	if err != nil {
		return err
	}
	var answer struct{ PdfURL string }
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	document, err := p.send(ctx, http.MethodGet, answer.PdfURL, "")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.service.Dir, "quote-"+v.locale+".pdf"), document, 0o600)
}

// publish plays an editor who changes a title, and reads it back.
func (p *play) publish(ctx context.Context) error {
	scene("An editor changes the Romanian title, and the CMS calls its webhook")
	const ask = `{ content(documentType: "heroSection", locale: ro) { id fields } }`
	if _, err := p.query(ctx, ask); err != nil {
		return err
	}
	var docs []map[string]any
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		return err
	}
	title := "Titlu nou, publicat la " + time.Now().Format(time.TimeOnly)
	var raw []json.RawMessage
	for _, doc := range docs {
		if doc["_id"] == "heroSection-ro" {
			doc["title"] = title
		}
		data, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		raw = append(raw, data)
	}
	if p.upstreams != nil {
		if err := p.upstreams.CMS.Replace(raw...); err != nil {
			return err
		}
	} else {
		data, err := json.Marshal(raw)
		if err != nil {
			return err
		}
		path := filepath.Join(p.service.Dir, "content.json")
		if err := errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
			return err
		}
	}
	if _, err := p.send(ctx, http.MethodPost, "/api/webhooks/cms", `{"_id":"heroSection-ro","_type":"heroSection","language":"ro"}`,
		"Authorization: Bearer "+harness.WebhookToken); err != nil {
		return err
	}
	data, err := p.query(ctx, ask)
	if err == nil && !bytes.Contains(data, []byte(title)) {
		err = errors.New("the new title is not in the first answer after the webhook")
	}
	return err
}

// finish waits for the deliveries and says where everything is.
func (p *play) finish(ctx context.Context) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		list, err := p.service.Command(ctx, "deliveries", "list", "--json")
		if err != nil {
			return err
		}
		if left := strings.TrimSpace(string(list)); left == "[]" {
			break
		} else if time.Now().After(deadline) {
			return fmt.Errorf("not every lead was delivered: %s", left)
		}
	}
	scene("Where things are")
	fmt.Println("  PDFs, database, CMS and CRM of the file drivers, log:", p.service.Dir)
	fmt.Println("\nevery lead is stored and delivered to the CMS and the CRM")
	return nil
}

func scene(title string) { fmt.Printf("\n== %s\n", title) }

func (p *play) query(ctx context.Context, query string) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return nil, err
	}
	return p.send(ctx, http.MethodPost, "/graphql", string(body))
}

// send sends one request, prints both ways, and fails on anything but a success.
func (p *play) send(ctx context.Context, method, path, body string, headers ...string) ([]byte, error) {
	fmt.Printf("\n→ %s %s\n", method, path)
	for _, line := range append(headers, body) {
		if line != "" {
			fmt.Println("  " + line)
		}
	}
	status, data, err := harness.Do(ctx, method, p.service.Base+path, body, headers...)
	if err != nil {
		return nil, err
	}
	shown := string(data)
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		shown = fmt.Sprintf("a PDF of %d bytes", len(data))
	}
	fmt.Printf("← %d  %.600s\n", status, shown)
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s %s answered %d", method, path, status)
	}
	return data, nil
}
