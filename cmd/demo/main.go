// Command demo starts the service with a new data folder and plays the users of a site: a
// visitor in each language uses the calculator, submits a quote and downloads the PDF; an
// editor changes content; an operator clears the cache. It prints every request with its
// response.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/schema"
)

func main() { harness.Main("demo", play) }

func play(ctx context.Context) {
	binary := flag.String("binary", "bin/siteapi", "the service")
	flag.Parse()

	dir := harness.Must(os.MkdirTemp("", "siteapi-demo-"))
	s := harness.New(*binary, dir, "CONTENT_TYPES=heroSection")
	s.Run(ctx)
	defer s.Stop(syscall.SIGTERM)

	fmt.Println("== The frontend reads the site settings")
	send(ctx, http.MethodPost, s.Base+"/graphql", "",
		`{"query":"{ SiteSettings(id: \"siteSettings\") { contactEmail } }"}`)

	visitors := []string{
		`"firstName":"Grace","lastName":"Okafor","email":"grace.okafor@example.com"`,
		`"firstName":"Íñigo","lastName":"Muñoz Peña","email":"inigo.munoz@example.com"`,
		`"firstName":"Ștefania","lastName":"Țurcanu","email":"stefania.turcanu@example.com"`,
	}
	for i, locale := range schema.Locales() {
		contact := visitors[i%len(visitors)]
		fmt.Printf("\n== A visitor uses the calculator (%s)\n", locale)
		const selections = `"selections":{"projectType":"web-app","features":["blog","multilingual"]}`
		estimate := send(ctx, http.MethodPost, s.Base+"/api/quote/estimate", "",
			fmt.Sprintf(`{%s,"locale":"%s"}`, selections, locale))
		choices := fmt.Sprintf(`"sessionId":"demo-%s",%s,"estimate":%s`, locale, selections, estimate)
		send(ctx, http.MethodPost, s.Base+"/api/quote/track", "", "{"+choices+"}")

		response := send(ctx, http.MethodPost, s.Base+"/api/quote/submit", "",
			fmt.Sprintf(`{%s,"locale":"%s","contact":{%s}}`, choices, locale, contact))
		var submitted struct{ PdfURL string }
		harness.Check(json.Unmarshal(response, &submitted))

		pdf := send(ctx, http.MethodGet, s.Base+submitted.PdfURL, "", "")
		harness.Check(os.WriteFile(dir+"/quote-"+string(locale)+".pdf", pdf, 0o600))
	}

	fmt.Println("\n== An editor changes a title, and the CMS calls the webhook")
	edited := bytes.ReplaceAll(harness.Must(os.ReadFile(s.Content)), []byte("Sitios web"), []byte("Páginas"))
	harness.Check(os.WriteFile(s.Content+".new", edited, 0o600))
	harness.Check(os.Rename(s.Content+".new", s.Content))
	send(ctx, http.MethodPost, s.Base+"/api/webhooks/cms", harness.WebhookToken,
		`{"_type":"heroSection","language":"es"}`)

	const query = `{"query":"{ content(documentType: \"heroSection\", locale: es) { fields } }"}`
	if !bytes.Contains(send(ctx, http.MethodPost, s.Base+"/graphql", "", query), []byte("Páginas")) {
		harness.Failf("the first response after the webhook does not have the new title")
	}

	fmt.Println("\n== An operator clears the cache, and the leads are delivered")
	send(ctx, http.MethodPost, s.Base+"/api/cache/clear?pattern=content:*", harness.CacheToken, "")

	for !bytes.HasPrefix(s.Command(ctx, "deliveries", "list", "--json"), []byte("[]")) {
		time.Sleep(100 * time.Millisecond)
	}

	fmt.Printf("\nevery lead is stored and delivered to the CMS and the CRM: see %s\n", dir)
}

// send sends a request that must succeed, and prints it with its response.
func send(ctx context.Context, method, url, token, body string) []byte {
	status, response, err := harness.Do(ctx, method, url, token, body)
	harness.Check(err)

	shown := string(response)
	if bytes.HasPrefix(response, []byte("%PDF-")) {
		shown = fmt.Sprintf("a PDF of %d bytes", len(response))
	}

	fmt.Printf("\n→ %s %s\n  %s\n← %d  %.600s\n", method, url, body, status, shown)
	if status != http.StatusOK {
		harness.Failf("%s %s: status %d", method, url, status)
	}
	return response
}
