// Command demo starts the service on a fresh data folder and plays what happens on a
// site: a visitor in each language who uses the calculator, submits and fetches the
// PDF; an editor who changes the content; an operator who clears the cache. It prints
// every request with its answer.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	binary := flag.String("binary", "bin/siteapi", "the service")
	flag.Parse()
	err := play(ctx, *binary)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, binary string) error {
	dir, err := os.MkdirTemp("", "siteapi-demo-")
	if err != nil {
		return err
	}
	content := filepath.Join(dir, "content.json")
	if err := os.WriteFile(content, cmsfile.Sample(), 0o600); err != nil {
		return err
	}
	s, err := harness.New(binary, dir, "CONTENT_TYPES=heroSection", "CMS_FILE="+content)
	if err != nil {
		return err
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	defer s.Stop(syscall.SIGTERM)
	d := &demo{ctx: ctx, base: s.Base}

	d.scene("The site's settings, as the frontend reads them")
	d.send(http.MethodPost, "/graphql", `{"query":"{ SiteSettings(id: \"siteSettings\") { contactPhone contactEmail } }"}`)
	for _, v := range [][]string{
		{"en", "Grace", "Okafor", "grace.okafor@example.com"}, {"es", "Íñigo", "Muñoz Peña", "inigo.munoz@example.com"},
		{"ro", "Ștefania", "Țurcanu", "stefania.turcanu@example.com"},
	} {
		d.scene(fmt.Sprintf("%s %s uses the calculator (%s)", v[1], v[2], v[0]))
		const chosen = `"selections":{"projectType":"web-app","features":["blog","multilingual"]},
			"estimate":{"min":9000,"max":14000,"currency":"EUR"}`
		d.send(http.MethodPost, "/api/quote/track", fmt.Sprintf(`{"sessionId":"demo-%s",%s}`, v[0], chosen))
		answer := d.send(http.MethodPost, "/api/quote/submit", fmt.Sprintf(
			`{"sessionId":"demo-%s","locale":"%s","contact":{"firstName":"%s","lastName":"%s","email":"%s"},%s}`,
			v[0], v[0], v[1], v[2], v[3], chosen))
		var submitted struct{ PdfURL string }
		d.check(json.Unmarshal(answer, &submitted))
		d.check(os.WriteFile(filepath.Join(dir, "quote-"+v[0]+".pdf"), d.send(http.MethodGet, submitted.PdfURL, ""), 0o600))
	}
	d.scene("An editor changes a title, and the CMS calls the webhook")
	d.check(os.WriteFile(content+".new", bytes.ReplaceAll(cmsfile.Sample(), []byte("Sitios web"), []byte("Páginas")), 0o600))
	d.check(os.Rename(content+".new", content))
	d.send(http.MethodPost, "/api/webhooks/cms", `{"_id":"heroSection-es","_type":"heroSection","language":"es"}`,
		"Authorization: Bearer "+harness.WebhookToken)
	page := d.send(http.MethodPost, "/graphql", `{"query":"{ content(documentType: \"heroSection\", locale: es) { fields } }"}`)
	if !bytes.Contains(page, []byte("Páginas")) {
		d.check(errors.New("the new title is not in the first answer after the webhook"))
	}
	d.scene("An operator clears the cache")
	d.send(http.MethodPost, "/api/cache/clear?pattern=content:*", "", "Authorization: Bearer "+harness.CacheToken)
	if d.err != nil {
		return d.err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left, err := s.Command(ctx, "deliveries", "list", "--json")
		if err != nil || strings.TrimSpace(string(left)) == "[]" {
			fmt.Printf("\nevery lead is stored and delivered to the CMS and the CRM: see %s\n", dir)
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not every lead was delivered: %s", left)
		}
	}
}

// demo sends requests until one fails.
type demo struct {
	ctx  context.Context
	base string
	err  error
}

func (d *demo) scene(title string) { fmt.Printf("\n== %s\n", title) }

func (d *demo) check(err error) { d.err = errors.Join(d.err, err) }

// send sends one request and prints it with its answer.
func (d *demo) send(method, path, body string, headers ...string) []byte {
	if d.err != nil {
		return nil
	}
	fmt.Printf("\n→ %s %s\n", method, path)
	for _, line := range append(headers, body) {
		if line != "" {
			fmt.Println("  " + line)
		}
	}
	status, answer, err := harness.Do(d.ctx, method, d.base+path, body, headers...)
	shown := string(answer)
	if bytes.HasPrefix(answer, []byte("%PDF-")) {
		shown = fmt.Sprintf("a PDF of %d bytes", len(answer))
	}
	fmt.Printf("← %d  %.600s\n", status, shown)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s answered %d", method, path, status)
	}
	d.check(err)
	return answer
}
