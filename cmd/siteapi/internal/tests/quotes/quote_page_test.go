package quotes

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema"
)

const (
	sameOrigin = "Sec-Fetch-Site: same-origin"
	asForm     = "Content-Type: application/x-www-form-urlencoded"
)

// submitForPage submits a lead whose typed fields have markup and two consents, and returns
// its id.
func submitForPage(s *apptest.Service, session string) string {
	s.T.Helper()
	return s.Submit(session, `"contact": {"email": "ana@example.com", "company": "</title><script>alert(1)</script> & \"Sons\""}, "consents": [
		{"purpose": "marketing", "given": true, "text": "<b>News</b>"},
		{"purpose": "partners", "given": true},
		{"purpose": "surveys", "given": false}]`)
}

// asBrowser is the header of a browser that opens a page.
const asBrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"

// postForm sends a form of the page, and follows no redirect.
func postForm(s *apptest.Service, path string, fields url.Values, headers ...string) apptest.Response {
	s.T.Helper()
	direct := s.Client
	direct.HTTP = apptest.NoRedirects
	return direct.Do("POST", "/api/quote/page/"+path, fields.Encode(), append(headers, asForm)...)
}

// The page has a strict policy, says the same as the PDF in each language, and shows
// nothing typed as markup.
func TestQuotePage(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := submitForPage(s, "page")

	for _, locale := range schema.Locales() {
		got := s.Do("GET", "/api/quote/page?id="+id+"&locale="+string(locale), "")
		for name, want := range map[string]string{
			"Cache-Control":   "no-store",
			"Content-Type":    "text/html; charset=utf-8",
			"Referrer-Policy": "same-origin",
			"X-Robots-Tag":    "noindex",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", locale, name, got.Header.Get(name), want)
			}
		}
		policy := got.Header.Get("Content-Security-Policy")
		if got.Status != 200 || !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "script") {
			t.Errorf("%s: %d, policy %q", locale, got.Status, policy)
		}

		page := string(got.Body)
		if !strings.Contains(page, `<html lang="`+string(locale)+`"`) || strings.Count(page, "<h1") != 1 ||
			strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
			t.Errorf("%s: %s", locale, page)
		}
		wantTextsOfPDF(t, s, id, locale, page)

		// The company's lines, in the visitor's language, but not what is only for the site's footer.
		label := map[schema.Locale]string{"en": "Sales", "es": "Ventas", "ro": "Vânzări"}[locale]
		plain := blanks.ReplaceAllString(html.UnescapeString(page), " ")
		for _, want := range []string{
			"12 Lantern Yard", "London SE1 0AA", "Greater London, United Kingdom", label + ": +44 20 7946 0018", `"tel:+442079460018"`,
			`"mailto:hello@lumen-studio.example"`, `"https://lumen-studio.example"`,
		} {
			if !strings.Contains(plain, want) || strings.Contains(plain, "+44 113 496 0102") {
				t.Errorf("%s: the page lacks %q or has more: %s", locale, want, plain)
			}
		}
	}
}

var (
	notShown = regexp.MustCompile(`(?s)<head>.*</head>|<div class="screen">.*</div>|<[^>]*>`)
	blanks   = regexp.MustCompile(`[\s\x{a0}]+`)
	inPDF    = regexp.MustCompile(`^(\d|/|·|of|de|din|Page|Página|Pagina)$`) // the footer, and numbers of the steps
)

// wantTextsOfPDF compares the words of the printed page with those of the PDF, apart from
// its footer.
func wantTextsOfPDF(t *testing.T, s *apptest.Service, id string, locale schema.Locale, page string) {
	t.Helper()
	words := func(text string) []string {
		list := strings.Fields(blanks.ReplaceAllString(text, " "))
		slices.Sort(list)
		return slices.Compact(list)
	}
	pdf := s.Do("GET", "/api/quote/pdf?id="+id+"&locale="+string(locale), "").Body
	shown, printed := words(html.UnescapeString(notShown.ReplaceAllString(page, " "))), words(apptest.PDFText(t, pdf))
	for _, word := range shown {
		if !slices.Contains(printed, word) {
			t.Errorf("%s: the PDF lacks %q of the page", locale, word)
		}
	}
	for _, word := range printed {
		if !slices.Contains(shown, word) && !inPDF.MatchString(word) {
			t.Errorf("%s: the page lacks %q of the PDF", locale, word)
		}
	}
}

// The page of an unknown or erased lead says so in the visitor's language.
func TestMissingQuotePage(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	erased := submitForPage(s, "erased")
	must(t, s.App.Data.Store.Erase(t.Context(), erased))

	for _, id := range []string{
		erased, "unknown", strings.Repeat("x", 128), "' OR 1=1 --", "<script>", "../../etc/passwd", "quote:pdf:*", "a b",
		"ЖЖ", "0",
	} {
		got := s.Do("GET", "/api/quote/page?id="+url.QueryEscape(id), "", asBrowser, "Accept-Language: ro;q=0.9, de")
		if !got.Is(404, `lang="ro"`) ||
			got.Has(id) && len(id) > 3 {
			t.Errorf("%q: %s", id, got)
		}
		act := postForm(s, "deletion", url.Values{"id": {id}, "locale": {"es"}}, sameOrigin, asBrowser)
		if !act.Is(404, `lang="es"`) {
			t.Errorf("deletion of %q: %s", id, act)
		}
	}
	if got := s.Query(`{ quotePage(id: "unknown") { content } }`, nil); !got.Has("NOT_FOUND") {
		t.Errorf("through GraphQL: %s", got.Body)
	}
}

// A browser gets each error as a page in its language, and another client as a problem
// document.
func TestErrorsOfQuotePage(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on")
	for query, want := range map[string]int{
		"": 400, "?id=": 400, "?id=a&id=b": 400, "?id=%FF": 400, "?id=" + strings.Repeat("x", 129): 400,
		"?id=a&locale=xx": 400, "?id=unknown": 404,
	} {
		got := s.Do("GET", "/api/quote/page"+query, "", asBrowser, "Accept-Language: es-MX")
		if !got.Is(want, `<html lang="es">`) || got.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%q in a browser: %s", query, got)
		}
		if got := s.Do("GET", "/api/quote/page"+query, "", "Accept: */*"); !got.Is(want, `"success":false`) {
			t.Errorf("%q: %s", query, got)
		}
	}

	if got := postForm(s, "withdraw", url.Values{"id": {"x"}}, asBrowser); !got.Is(403, "<html") {
		t.Errorf("a form of another site: %s", got)
	}
	var limited apptest.Response
	for range 100 {
		if limited = s.Do("GET", "/api/quote/page?id=unknown", "", asBrowser); limited.Status == 429 {
			break
		}
	}
	if !limited.Is(429, "Please try again in a moment") || limited.Header.Get("Retry-After") == "" {
		t.Errorf("beyond the limit: %s", limited)
	}
}

// A visitor can withdraw a consent, in all leads of the address, and ask for the deletion of
// the lead, which deletes nothing. Each lead's history has its change once. The response is
// the same whether there are other leads or not.
func TestActsOnQuotePage(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database, apptest.Quick)
		id, other := submitForPage(s, "acts"), submitForPage(s, "other")
		stranger := s.Submit("stranger", `"contact": {"email": "maria@example.com"}, "consents": [{"purpose": "marketing", "given": true}]`)
		s.Reaches(id, "crm", "delivered")
		s.Reaches(other, "crm", "delivered")

		for range 3 { // a double click changes nothing more
			got := postForm(s, "withdraw", url.Values{"id": {id}, "purpose": {"marketing"}, "locale": {"en"}}, sameOrigin)
			if got.Status != 303 || got.Header.Get("Location") != "../../../api/quote/page?id="+id+"&locale=en" {
				t.Fatalf("withdrawing: %d %v %s", got.Status, got.Header, got.Body)
			}
			got = postForm(s, "deletion", url.Values{"id": {id}}, "Origin: "+s.Base)
			if got.Status != 303 || got.Header.Get("Location") != "../../../api/quote/page?id="+id {
				t.Fatalf("asking for deletion: %d %v %s", got.Status, got.Header, got.Body)
			}
		}
		for _, purpose := range []string{"surveys", "nothing"} { // it was not given
			if got := postForm(s, "withdraw", url.Values{"id": {id}, "purpose": {purpose}}, sameOrigin); got.Status != 303 {
				t.Errorf("withdrawing %s: %d", purpose, got.Status)
			}
		}

		l, untouched := s.ShowLead(id), s.ShowLead(other)
		if l.DeletionRequestedAt == nil || l.Consents[0].WithdrawnAt == nil || l.Consents[1].WithdrawnAt != nil ||
			untouched.Consents[0].WithdrawnAt == nil || untouched.Consents[1].WithdrawnAt != nil ||
			untouched.DeletionRequestedAt != nil || s.ShowLead(stranger).Consents[0].WithdrawnAt != nil {
			t.Errorf("the lead is %+v, another one of the person %+v", l, untouched)
		}
		for _, of := range []string{id, other} {
			apptest.Eventually(t, "CMS and CRM know the withdrawal", func() bool {
				return strings.Contains(delivered(s, "cms", of), "withdrawnAt") &&
					strings.Contains(delivered(s, "crm", other), "marketing: withdrawn")
			})
		}
		export := s.Prints("leads export --email ana@example.com").Out
		if n := strings.Count(export, `""purpose"":""marketing""`); n == 0 || n != strings.Count(export, `""withdrawnAt"":""20`) {
			t.Errorf("the export is %s", export)
		}

		page := string(s.Do("GET", "/api/quote/page?locale=en&id="+id, "").Body)
		if !strings.Contains(page, "Withdrawn on") || !strings.Contains(page, "You asked for deletion on") ||
			strings.Contains(page, "Ask for deletion") || strings.Contains(page, "surveys") || strings.Contains(page, "Marketing") ||
			!strings.Contains(page, "&lt;b&gt;News&lt;/b&gt;</strong>") {
			t.Errorf("the page is %s", page)
		}
		audit := s.Prints("audit list --json").Out
		if strings.Count(audit, `"visitor"`) != 3 || strings.Count(audit, `"WITHDRAWN"`) != 2 || strings.Count(audit, `"DELETION_REQUESTED"`) != 1 {
			t.Errorf("the audit has %s", audit)
		}
		shown := string(s.Response(schema.RoleSales, `{ lead(lead: "`+id+`") { deletionRequestedAt quoteUrl } }`))
		if strings.Contains(shown, "null") || !strings.Contains(shown, "/api/quote/page?id="+id) {
			t.Errorf("operators see %s", shown)
		}
	})
}

// Nothing but a form of the page itself can act: no GET, no scanner of mails, no other
// site's page, no script without a browser.
func TestForeignFormsOfQuotePage(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := submitForPage(s, "foreign")
	fields := url.Values{"id": {id}, "purpose": {"marketing"}}

	for _, headers := range [][]string{
		nil,
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site"},
		{"Sec-Fetch-Site: none"},
		{"Sec-Fetch-Site: cross-site", "Origin: " + s.Base},
		{"Origin: null"},
		{"Origin: https://evil.example"},
		{"Origin: " + s.Base + ".evil.example"},
		{"Origin: http://"},
		{"Origin: %"},
		{"Referer: " + s.Base + "/"},
	} {
		for _, path := range []string{"withdraw", "deletion"} {
			if got := postForm(s, path, fields, headers...); got.Status != 403 {
				t.Errorf("%s with %q: %d", path, headers, got.Status)
			}
		}
	}

	for _, mutation := range []string{
		`mutation { requestQuoteDeletion(id: "` + id + `") { changed } }`,
		`mutation { withdrawQuoteConsent(id: "` + id + `", purpose: "marketing") { changed } }`,
	} {
		for _, site := range []string{"cross-site", "same-site", "none"} {
			if got := s.Query(mutation, nil, "Sec-Fetch-Site: "+site); !got.Has("FORBIDDEN") {
				t.Errorf("%s from %s: %s", mutation, site, got.Body)
			}
		}
		if got := s.Do("GET", "/graphql?query="+url.QueryEscape(mutation), "", sameOrigin); got.Status != 405 {
			t.Errorf("%s by GET: %d", mutation, got.Status)
		}
	}
	for _, purpose := range []string{"prefetch", "prefetch;prerender"} { // a browser, or a scanner of mails
		s.Do("GET", "/api/quote/page?purpose=marketing&withdraw=1&id="+id, "", sameOrigin, "Sec-Purpose: "+purpose)
	}

	for _, path := range []string{"withdraw", "deletion"} {
		for _, method := range []string{"GET", "HEAD", "PUT"} {
			if got := s.Do(method, "/api/quote/page/"+path+"?"+fields.Encode(), "", sameOrigin); got.Status != 405 {
				t.Errorf("%s %s: %d", method, path, got.Status)
			}
		}
		for _, media := range []string{"application/json", "text/plain", "multipart/form-data; boundary=x"} {
			if got := s.Do("POST", "/api/quote/page/"+path, fields.Encode(), sameOrigin, "Content-Type: "+media); got.Status != 415 {
				t.Errorf("%s as %s: %d", path, media, got.Status)
			}
		}
	}
	for body, want := range map[string]int{
		"":                                  400,
		"id=":                               400,
		"purpose=marketing":                 400,
		"id=" + id:                          400, // no purpose
		"id=" + id + "&purpose=Not a slug":  400,
		"id=" + id + "&purpose=%FF":         400,
		"id=" + id + "&purpose=a&purpose=b": 400,
		"id=" + id + "&purpose=a;b":         400,
		"id=%ZZ&purpose=a":                  400,
		"id=" + id + "&purpose=" + strings.Repeat("a", 70_000): 413,
	} {
		got := s.Do("POST", "/api/quote/page/withdraw", body, sameOrigin, asForm)
		if got.Status != want {
			t.Errorf("%.60s: %s, want %d", body, got, want)
		}
	}

	if l := s.ShowLead(id); l.Consents[0].WithdrawnAt != nil || l.DeletionRequestedAt != nil {
		t.Errorf("the lead was changed: %+v", l)
	}
}

// The page's links and forms, and the way back to it, work below any path at which a proxy
// serves the API.
func TestQuotePageBelowAPath(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	target, err := url.Parse(s.Base)
	must(t, err)

	for i, prefix := range []string{"", "/backend", "/v1/site", "/a-b/c_d/e.f/%C8%99", "/api/quote/page"} {
		id := submitForPage(s, fmt.Sprint("prefix-", i))
		plain, _ := url.PathUnescape(prefix)
		proxy := httptest.NewServer(http.StripPrefix(plain, httputil.NewSingleHostReverseProxy(target)))
		t.Cleanup(proxy.Close)

		c := &apptest.Client{T: t, Base: proxy.URL}
		address, err := url.Parse(prefix + "/api/quote/page?locale=en&id=" + id)
		must(t, err)
		page := c.Do("GET", address.String(), "")
		link := func(pattern string) string {
			t.Helper()
			found := regexp.MustCompile(pattern).FindSubmatch(page.Body)
			if found == nil {
				t.Fatalf("%q: no %s on the page: %s", prefix, pattern, page)
			}
			to, err := address.Parse(html.UnescapeString(string(found[1])))
			must(t, err)
			return to.String()
		}
		if pdf := c.Do("GET", link(`href="([^"]*)" download`), ""); !pdf.Is(200, "%PDF") {
			t.Errorf("%q: the PDF is %.40s", prefix, pdf)
		}

		// The redirects after both forms are followed.
		fields := url.Values{"id": {id}, "purpose": {"marketing"}, "locale": {"en"}}.Encode()
		c.Do("POST", link(`action="([^"]*withdraw)"`), fields, sameOrigin, asForm)
		after := c.Do("POST", link(`action="([^"]*deletion)"`), fields, sameOrigin, asForm)
		if !after.Is(200, "Withdrawn on") || !after.Has("You asked for deletion") {
			t.Errorf("%q: %s", prefix, after)
		}
	}
}

// tags matches the beginning of an element, and attributes in a quoted form that run scripts.
var tags = regexp.MustCompile(`<[/!]?[a-zA-Z][a-z0-9]*|\son\w+="|javascript:`)

// TestMarkupInEveryField submits markup in every field that a visitor types, and has it in
// every string of the CMS that the page shows. The page has the same elements as one without.
func TestMarkupInEveryField(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	page := func(session, mark, website string) []string {
		t.Helper()
		ours := strings.NewReplacer("{", "(", "}", ")").Replace(mark) // braces would be unknown placeholders
		quoted := func(text string) string { q := strconv.Quote(text); return q[1 : len(q)-1] }
		marked := strings.NewReplacer("<mark>", quoted(mark), "<short>", quoted(mark[:min(len(mark), 12)]),
			"<ours>", quoted(ours), "<website>", website).Replace
		s.Publish(marked(`[
			{"_id": "siteSettings", "_type": "siteSettings", "title": "Firm<mark>", "website": "<website>",
				"contactEmail": "a@firm.test<mark>", "accentColor": "#123456<mark>",
				"address": {"street": "Street<mark>", "city": "City<mark>", "country": "Land<mark>"},
				"contactPhones": [{"number": "+40 21 555 0123<mark>", "label": {"ro": "label<mark>"}, "displayLocation": ["contact"]}]},
			{"_id": "o1", "_type": "quoteOption", "group": "projectType", "slug": "web-app", "label": {"ro": "label<mark>"}},
			{"_id": "o2", "_type": "quoteOption", "group": "feature", "slug": "blog", "label": {"ro": "label<mark>"}},
			{"_id": "quoteTexts", "_type": "quoteTexts", "quoteIntro": {"ro": "own<ours>"}, "terms": {"ro": "own<ours>"}}]`))

		// A lead does not wait for a database that is slow to store the firm's words.
		id := ""
		apptest.Eventually(t, "a lead has the firm's words", func() bool {
			id = s.Submit(session, marked(`
			"contact": {"firstName": "Ana<mark>", "lastName": "Pop<mark>", "phone": "+40 721 000 000<short>", "company": "Company<mark>"},
			"selections": {"projectType": "web-app", "features": ["blog"]},
			"message": "Message<mark>",
			"attribution": {"source": "source<mark>", "referrer": "https://a.test/<mark>"},
			"consents": [{"purpose": "marketing", "given": true, "text": "Text<mark>"}]`))
			session += "-again"
			l, err := s.App.Data.Store.Lead(t.Context(), id)
			return err == nil && l.Texts != ""
		})
		got := s.Do("GET", "/api/quote/page?id="+id, "")
		for _, text := range []string{"Firm" + mark, "Street" + mark, "Company" + mark, "label" + mark, "own" + ours} {
			if got.Status != 200 || !strings.Contains(html.UnescapeString(string(got.Body)), text) {
				t.Fatalf("%q: %d %s", text, got.Status, got.Body)
			}
		}
		return tags.FindAllString(string(got.Body), -1)
	}

	plain := page("plain", "", "https://firm.test")
	for session, mark := range map[string]string{
		"script":    `<script>alert(1)</script>`,
		"closes":    `</title></style></p><script>alert(1)</script>`,
		"attribute": `" onerror="alert(1)"><img src=x>`,
		"single":    `' onfocus='alert(1)' autofocus='`,
		"comment":   `--><!--<svg/onload=alert(1)>`,
		"entity":    `&lt;script&gt;&#x3c;b&#x3e;`,
		"template":  `{{.Lead}}<template>`,
		"style":     `;}</style><style>*{display:none}`,
		"textarea":  `<textarea><plaintext><iframe srcdoc=x>`,
		"form":      `<form action=https://evil.test><button>`,
		"base":      `<base href=https://evil.test><meta http-equiv=refresh>`,
	} {
		if hostile := page(session, mark, "https://firm.test"); !slices.Equal(hostile, plain) {
			t.Errorf("%s: the page has %q, want %q", session, hostile, plain)
		}
	}
	if address := page("address", "", "javascript:alert(1)"); slices.Contains(address, "javascript:") {
		t.Error("the page has a link with a script")
	}
}
