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
	err := harness.Run(func() { play(ctx, *binary) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, binary string) {
	dir := harness.Must(os.MkdirTemp("", "siteapi-demo-"))
	content := filepath.Join(dir, "content.json")
	harness.Check(os.WriteFile(content, cmsfile.Sample(), 0o600))
	s := harness.New(binary, dir, "CONTENT_TYPES=heroSection", "CMS_FILE="+content)
	s.Run(ctx)
	defer s.Stop(syscall.SIGTERM)
	send := func(method, path, body string, headers ...string) []byte {
		return send(ctx, s.Base, method, path, body, headers...)
	}

	scene("The site's settings, as the frontend reads them")
	send(http.MethodPost, "/graphql", `{"query":"{ SiteSettings(id: \"siteSettings\") { contactPhone contactEmail } }"}`)
	for _, v := range [][]string{
		{"en", "Grace", "Okafor", "grace.okafor@example.com"}, {"es", "Íñigo", "Muñoz Peña", "inigo.munoz@example.com"},
		{"ro", "Ștefania", "Țurcanu", "stefania.turcanu@example.com"},
	} {
		scene(fmt.Sprintf("%s %s uses the calculator (%s)", v[1], v[2], v[0]))
		const chosen = `"selections":{"projectType":"web-app","features":["blog","multilingual"]},
			"estimate":{"min":9000,"max":14000,"currency":"EUR"}`
		send(http.MethodPost, "/api/quote/track", fmt.Sprintf(`{"sessionId":"demo-%s",%s}`, v[0], chosen))
		answer := send(http.MethodPost, "/api/quote/submit", fmt.Sprintf(
			`{"sessionId":"demo-%s","locale":"%s","contact":{"firstName":"%s","lastName":"%s","email":"%s"},%s}`,
			v[0], v[0], v[1], v[2], v[3], chosen))
		var submitted struct{ PdfURL string }
		harness.Check(json.Unmarshal(answer, &submitted))
		harness.Check(os.WriteFile(filepath.Join(dir, "quote-"+v[0]+".pdf"), send(http.MethodGet, submitted.PdfURL, ""), 0o600))
	}
	scene("An editor changes a title, and the CMS calls the webhook")
	harness.Check(os.WriteFile(content+".new", bytes.ReplaceAll(cmsfile.Sample(), []byte("Sitios web"), []byte("Páginas")), 0o600))
	harness.Check(os.Rename(content+".new", content))
	send(http.MethodPost, "/api/webhooks/cms", `{"_id":"heroSection-es","_type":"heroSection","language":"es"}`,
		"Authorization: Bearer "+harness.WebhookToken)
	page := send(http.MethodPost, "/graphql", `{"query":"{ content(documentType: \"heroSection\", locale: es) { fields } }"}`)
	if !bytes.Contains(page, []byte("Páginas")) {
		harness.Check(errors.New("the new title is not in the first answer after the webhook"))
	}
	scene("An operator clears the cache")
	send(http.MethodPost, "/api/cache/clear?pattern=content:*", "", "Authorization: Bearer "+harness.CacheToken)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left := s.Command(ctx, "deliveries", "list", "--json")
		if strings.TrimSpace(string(left)) == "[]" {
			break
		}
		if time.Now().After(deadline) {
			harness.Check(fmt.Errorf("not every lead was delivered: %s", left))
		}
	}
	fmt.Printf("\nevery lead is stored and delivered to the CMS and the CRM: see %s\n", dir)
}

func scene(title string) { fmt.Printf("\n== %s\n", title) }

// send sends one request, which must succeed, and prints it with its answer.
func send(ctx context.Context, base, method, path, body string, headers ...string) []byte {
	fmt.Printf("\n→ %s %s\n", method, path)
	for _, line := range append(headers, body) {
		if line != "" {
			fmt.Println("  " + line)
		}
	}
	status, answer, err := harness.Do(ctx, method, base+path, body, headers...)
	harness.Check(err)
	shown := string(answer)
	if bytes.HasPrefix(answer, []byte("%PDF-")) {
		shown = fmt.Sprintf("a PDF of %d bytes", len(answer))
	}
	fmt.Printf("← %d  %.600s\n", status, shown)
	if status != http.StatusOK {
		harness.Check(fmt.Errorf("%s %s answered %d", method, path, status))
	}
	return answer
}
