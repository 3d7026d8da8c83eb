package quotes

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// priceContent is a calculator with prices and percents. The rules are in it as they are
// given, none if that is empty.
func priceContent(rules string, webApp int) string {
	docs := []string{
		`{"_id":"siteSettings","_type":"siteSettings","title":"Lumen"}`,
		fmt.Sprintf(`{"_id":"o1","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},`+
			`"label":{"en":"Web application","ro":"Aplicație web"},"price":%d}`, webApp),
		`{"_id":"o2","_type":"quoteOption","group":"feature","slug":{"current":"blog"},"label":{"en":"Blog"},"price":600}`,
		`{"_id":"o3","_type":"quoteOption","group":"feature","slug":{"current":"seo"},"price":333.33}`,
		`{"_id":"o4","_type":"quoteOption","group":"timeline","slug":{"current":"rush"},"label":{"en":"Rush"},"percent":20}`,
		`{"_id":"free","_type":"quoteOption","group":"feature","slug":{"current":"free"},"percent":-100}`,
		`{"_id":"gift","_type":"quoteOption","group":"feature","slug":{"current":"gift"},"percent":-100}`,
		`{"_id":"o5","_type":"quoteOption","group":"complexity","slug":{"current":"simple"},"price":0}`,
	}
	if rules != "" {
		docs = append(docs, `{"_id":"quoteRules","_type":"quoteRules",`+rules+`}`)
	}
	return "[" + strings.Join(docs, ",") + "]"
}

const (
	enforced = `"currency":"EUR","spreadPercent":50,"roundTo":100,"minimum":1000,"validDays":10,"enforce":true`
	onTrial  = `"currency":"EUR","spreadPercent":50,"roundTo":100,"minimum":1000,"validDays":10`
)

// startPriced starts a service with this content, which can be changed by changeContent.
func startPriced(t *testing.T, content string, env map[string]string) *apptest.Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"CMS_FILE": path}
	for name, value := range env {
		all[name] = value
	}
	return apptest.Start(t, all)
}

// changeContent publishes content, and waits until it prices with the project type at a price.
func changeContent(s *apptest.Service, content string, price float64) {
	s.T.Helper()
	if err := os.WriteFile(s.Env["CMS_FILE"], []byte(content), 0o600); err != nil {
		s.T.Fatal(err)
	}
	apptest.Eventually(s.T, "the new prices", func() bool {
		got := s.Through("REST", "estimateQuote", object{"selections": object{"projectType": "web-app"}})
		return got.Data["min"] == price
	})
}

func TestContractEstimate(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	until := time.Now().UTC().AddDate(0, 0, 10).Format(time.DateOnly)

	line := func(field string, slug any, label string, amount float64) any {
		return object{"field": field, "slug": slug, "label": label, "amount": amount}
	}
	for _, tt := range []struct {
		name       string
		selections object
		locale     any
		min, max   any
		unpriced   []any
		lines      []any
	}{
		{
			"a sum", object{"projectType": "web-app", "features": []any{"blog"}}, nil, 12600.0, 18900.0, []any{},
			[]any{line("projectType", "web-app", "Web application", 12000), line("features", "blog", "Blog", 600)},
		},
		{
			"a percent, rounded once", object{"projectType": "web-app", "features": []any{"blog", "seo", "seo"}, "timeline": "rush"},
			"ro", 15500.0, 23300.0, []any{},
			[]any{
				line("projectType", "web-app", "Aplicație web", 12000), line("features", "blog", "Blog", 600),
				line("features", "seo", "seo", 333.33), line("timeline", "rush", "Rush", 2586.67),
				line("rounding", nil, "Rotunjire", -20),
			},
		},
		{
			"slugs without a price", object{"projectType": "blog", "features": []any{"blog", "nope"}}, "en", 1000.0, 1500.0,
			[]any{"blog", "nope"}, []any{line("features", "blog", "Blog", 600), line("minimum", nil, "Minimum", 400)},
		},
		{"nothing priced", object{"projectType": "nope"}, nil, nil, nil, []any{"nope"}, []any{}},
		{
			"nulls", object{"projectType": nil, "features": nil, "complexity": "", "timeline": nil}, nil, nil, nil,
			[]any{}, []any{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				vars := object{"selections": tt.selections}
				if tt.locale != nil {
					vars["locale"] = tt.locale
				}
				got := s.Through(endpoint, "estimateQuote", vars)
				if tt.min != nil { // there is no revision until the database has the rules
					apptest.Eventually(t, "a revision", func() bool {
						got = s.Through(endpoint, "estimateQuote", vars)
						return got.Data["revision"] != nil
					})
				}

				want := object{
					"min": tt.min, "max": tt.max, "currency": nil, "lines": tt.lines, "unpriced": tt.unpriced,
					"validUntil": nil, "revision": nil, "preview": false,
				}
				if tt.min != nil {
					want["currency"], want["validUntil"], want["revision"] = "EUR", until, got.Data["revision"]
					revision, _ := got.Data["revision"].(string)
					if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(revision) {
						t.Errorf("the revision is %q", revision)
					}
				}
				if !reflect.DeepEqual(got.Data, want) {
					t.Errorf("got  %v\nwant %v", got.Data, want)
				}
				if got.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("the answer may be kept: %v", got.Header)
				}
			})
		})
	}
}

// TestEstimateWithoutRules: the range is null, whatever the content says of prices.
func TestEstimateWithoutRules(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"none":      "",
		"roundTo 0": `"currency":"EUR","spreadPercent":35,"roundTo":0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startPriced(t, priceContent(rules, 12000), nil)
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				got := s.Through(endpoint, "estimateQuote", object{"selections": object{"projectType": "web-app"}})
				want := object{
					"min": nil, "max": nil, "currency": nil, "lines": []any{}, "unpriced": []any{},
					"validUntil": nil, "revision": nil, "preview": false,
				}
				if !reflect.DeepEqual(got.Data, want) {
					t.Errorf("got %s", got.Raw)
				}
			})

			_, stored := s.SubmitPriced("REST", "1", object{"projectType": "web-app"}, 1, 1, "JPY", "")
			if stored.PriceStatus != "" || stored.SentEstimate != nil || stored.Price != nil || stored.Signals != nil ||
				stored.Estimate != (lead.Estimate{Min: 1, Max: 1, Currency: "JPY"}) {
				t.Errorf("the lead is stored as %+v", stored)
			}
			if logged := strings.Contains(s.Log.String(), "cannot be used for prices"); logged != (rules != "") {
				t.Errorf("logged: %v", logged)
			}
		})
	}
}

// TestContractPriceOfALead: what was sent is never stored as the price, unless it is.
func TestContractPriceOfALead(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	app := object{"projectType": "web-app"}
	bogus := object{"projectType": "web-app", "features": []any{"nope"}}
	const mismatch, unpriced = lead.EstimateMismatch, lead.UnpricedChoice

	for i, tt := range []struct {
		selections object
		low, high  float64
		currency   string
		want       lead.Estimate
		status     lead.PriceStatus
		signals    []lead.Signal
	}{
		{app, 12000, 18000, "EUR", lead.Estimate{Min: 12000, Max: 18000, Currency: "EUR"}, lead.Verified, nil},
		{app, 11900, 18100, "EUR", lead.Estimate{Min: 12000, Max: 18000, Currency: "EUR"}, lead.Verified, nil},
		{app, 1, 1, "EUR", lead.Estimate{Min: 12000, Max: 18000, Currency: "EUR"}, lead.Verified, []lead.Signal{mismatch}},
		{app, 12000, 18000, "JPY", lead.Estimate{Min: 12000, Max: 18000, Currency: "EUR"}, lead.Verified, []lead.Signal{mismatch}},
		{bogus, 1, 1, "EUR", lead.Estimate{Min: 12000, Max: 18000, Currency: "EUR"}, lead.Unpriced, []lead.Signal{unpriced, mismatch}},
		{bogus, 11900, 20000, "EUR", lead.Estimate{Min: 11900, Max: 20000, Currency: "EUR"}, lead.Unpriced, []lead.Signal{unpriced}},
		{object{"projectType": "nope"}, 1, 1, "JPY", lead.Estimate{Min: 1000, Max: 1500, Currency: "EUR"}, lead.Unpriced, []lead.Signal{unpriced, mismatch}},
	} {
		apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
			_, got := s.SubmitPriced(endpoint, fmt.Sprint("lead-", i), tt.selections, tt.low, tt.high, tt.currency, "")
			sent := lead.Estimate{Min: tt.low, Max: tt.high, Currency: tt.currency}
			if got.Estimate != tt.want || got.PriceStatus != tt.status || !slices.Equal(got.Signals, tt.signals) ||
				got.SentEstimate == nil || *got.SentEstimate != sent || got.InReview {
				t.Errorf("%+v: stored %+v", tt, got)
			}
		})
	}
}

// TestContractPriceTooLarge: a price above what a lead may have is never that of the client.
func TestContractPriceTooLarge(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(strings.Replace(enforced, "EUR", "VND", 1), 900_000_000), nil)
	app := object{"projectType": "web-app"}
	got := s.Through("REST", "estimateQuote", object{"selections": app})
	if got.Data["min"] != nil || got.Data["max"] != nil || got.Data["revision"] != nil {
		t.Errorf("estimated %s", got.Raw)
	}

	_, stored := s.SubmitPriced("REST", "large", app, 1, 1, "VND", "")
	want := []lead.Signal{lead.UnpricedChoice, lead.EstimateMismatch}
	if stored.Estimate.Min != 9e8 || stored.Estimate.Max != 1e9 || stored.PriceStatus != lead.Unpriced ||
		!slices.Equal(stored.Signals, want) {
		t.Errorf("stored %+v", stored)
	}
}

// exported returns the rows of an export by the ids of the leads, each by its columns.
func exported(s *apptest.Service) map[string]map[string]string {
	s.T.Helper()
	out, err := s.Command("leads", "export")
	if err != nil {
		s.T.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(out, "\ufeff"))).ReadAll()
	if err != nil {
		s.T.Fatal(err)
	}

	rows := map[string]map[string]string{}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows[row["lead_id"]] = row
	}
	return rows
}

// TestTamperedPricesReachNobody follows tampered submissions to everything that receives leads.
func TestTamperedPricesReachNobody(t *testing.T) {
	t.Parallel()
	hook, received := apptest.NewLeadReceiver(t)
	s := startPriced(t, priceContent(enforced, 12000),
		map[string]string{"LEAD_WEBHOOK_URL": hook, "LEAD_WEBHOOK_SECRET": apptest.LeadSecret})
	app := object{"projectType": "web-app"}

	type sent struct {
		name       string
		selections object
		low, high  float64
		currency   string
		min        float64
		status     lead.PriceStatus
		printed    string
	}
	const whole = "€12,000 – €18,000"
	leads := map[string]sent{}
	for _, tampered := range []sent{
		{"range", app, 7, 7.77, "EUR", 12000, lead.Verified, whole},
		{"currency", app, 12000, 18000, "JPY", 12000, lead.Verified, whole},
		{"slugs", object{"projectType": "blog"}, 7, 7.77, "EUR", 1000, lead.Unpriced, "To be agreed"},
		{"bogus", object{"projectType": "web-app", "features": []any{"nope"}}, 7, 7.77, "EUR", 12000, lead.Unpriced, whole},
	} {
		for _, endpoint := range []string{"REST", "GraphQL"} {
			id, _ := s.SubmitPriced(endpoint, tampered.name, tampered.selections, tampered.low, tampered.high, tampered.currency, "")
			leads[id] = tampered
		}
	}

	apptest.Eventually(t, "the deliveries", func() bool {
		received.Lock()
		defer received.Unlock()
		return len(s.Files("cms")) == len(leads) && len(s.Files("crm")) == len(leads) && len(received.Events) == len(leads)
	})
	forbidden := regexp.MustCompile(`7\.77|JPY|¥`)
	rows := exported(s)
	for id, tampered := range leads {
		document, err := os.ReadFile(filepath.Join(s.DataDir, "cms", "quoteSubmission."+id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		printed := pdfText(t, s.Do("GET", "/api/quote/pdf?id="+id, "").Body)
		announced, row := received.Events[id].Data, rows[id]
		want := lead.Estimate{Min: tampered.min, Max: tampered.min * 1.5, Currency: "EUR"}

		// The export has columns of their own for what was sent.
		if row["sent_estimate_max"] != fmt.Sprint(tampered.high) || row["sent_currency"] != tampered.currency {
			t.Errorf("%s: the export says that %s %s was sent", tampered.name, row["sent_estimate_max"], row["sent_currency"])
		}
		for _, column := range []string{"sent_estimate_min", "sent_estimate_max", "sent_currency"} {
			delete(row, column)
		}

		for place, text := range map[string]string{
			"PDF":    printed,
			"CMS":    string(document),
			"export": fmt.Sprint(row),
		} {
			if found := forbidden.FindString(text); found != "" {
				t.Errorf("%s: %s says %s: %s", tampered.name, place, found, text)
			}
		}
		if !strings.Contains(printed, tampered.printed) ||
			announced.Estimate != want || announced.PriceStatus != tampered.status ||
			row["estimate_min"] != fmt.Sprint(want.Min) || row["estimate_max"] != fmt.Sprint(want.Max) ||
			row["currency"] != "EUR" || row["price_status"] != string(tampered.status) ||
			!strings.Contains(string(document), `"`+string(tampered.status)+`"`) {
			t.Errorf("%s: PDF %s\nwebhook %+v\nexport %v\nCMS %s", tampered.name, printed, announced, row, document)
		}
	}

	for _, name := range s.Files("crm") {
		contact, err := os.ReadFile(filepath.Join(s.DataDir, "crm", name))
		if found := forbidden.Find(contact); err != nil || found != nil {
			t.Errorf("the CRM has %s, %v", contact, err)
		}
	}
}

// TestContractHonouredPrices submits with prices that changed after they were shown.
func TestContractHonouredPrices(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	app := object{"projectType": "web-app"}
	shown := s.Through("REST", "estimateQuote", object{"selections": app}).Data["revision"].(string)
	changeContent(s, priceContent(enforced, 20000), 20000)
	current := s.Through("REST", "estimateQuote", object{"selections": app}).Data["revision"].(string)
	other := startPriced(t, priceContent(enforced, 20000), map[string]string{"DATA_DIR": s.DataDir})

	check := func(name string, low, high float64, revision string, want float64, status lead.PriceStatus) {
		t.Helper()
		for _, of := range []*apptest.Service{s, other} {
			for _, endpoint := range []string{"REST", "GraphQL"} {
				_, got := of.SubmitPriced(endpoint, name, app, low, high, "EUR", revision)
				mismatch := slices.Contains(got.Signals, lead.EstimateMismatch)
				if got.Estimate.Min != want || got.PriceStatus != status || mismatch != (want != low) {
					t.Errorf("%s: stored %+v", name, got)
				}
			}
		}
	}
	check("honoured", 12000, 18000, shown, 12000, lead.Honoured)
	check("no-revision", 12000, 18000, "", 20000, lead.Verified)
	check("malformed", 12000, 18000, strings.ToUpper(shown)+"x", 20000, lead.Verified)
	check("never-existed", 12000, 18000, strings.Repeat("0", 32), 20000, lead.Verified)
	check("current", 20000, 30000, current, 20000, lead.Verified)
	check("tampered", 1, 2, shown, 20000, lead.Verified)

	// The rules were replaced a week ago.
	rules := store.PriceRules{Revision: current, Locale: "en", Rules: "{}"}
	ago := func(d time.Duration) { // moves when that was
		t.Helper()
		for _, p := range []store.PriceRules{{Revision: shown, Locale: "en"}, rules} {
			if err := s.App.Data.Tables.UsePriceRules(t.Context(), p, time.Now().Add(-d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ago(7 * 24 * time.Hour)
	check("of-last-week", 12000, 18000, shown, 20000, lead.Verified)
	ago(25 * time.Hour)
	check("too-late", 12000, 18000, shown, 20000, lead.Verified)
	ago(23 * time.Hour)
	check("in-time", 12000, 18000, shown, 12000, lead.Honoured)
}

// TestPricesAreReplacedWhenUnpublished, also where no others take their place.
func TestPricesAreReplacedWhenUnpublished(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	app := object{"projectType": "web-app"}
	var shown string
	apptest.Eventually(t, "a revision", func() bool {
		shown, _ = s.Through("REST", "estimateQuote", object{"selections": app}).Data["revision"].(string)
		return shown != ""
	})
	replaced := func(is bool) {
		t.Helper()
		apptest.Eventually(t, fmt.Sprint("rules that are replaced: ", is), func() bool {
			stored, err := s.App.Data.Tables.PriceRules(t.Context(), shown)
			return err == nil && stored.ReplacedAt.IsZero() != is
		})
	}

	if err := os.WriteFile(s.Env["CMS_FILE"], []byte(priceContent("", 12000)), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced(true)
	changeContent(s, priceContent(enforced, 12000), 12000)
	replaced(false)
}

// TestUnusableRulesLeaveTheLastInForce, after a restart too. Where nothing has a price, it is
// to be agreed.
func TestUnusableRulesLeaveTheLastInForce(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	app := object{"projectType": "web-app"}
	changeContent(s, priceContent(enforced, 12000), 12000)

	unusable := priceContent(strings.Replace(enforced, `"roundTo":100`, `"roundTo":0`, 1), 12000)
	if err := os.WriteFile(s.Env["CMS_FILE"], []byte(unusable), 0o600); err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, "a warning", func() bool { return strings.Contains(s.Log.String(), "cannot be used for prices") })

	again := apptest.Start(t, map[string]string{"CMS_FILE": s.Env["CMS_FILE"], "DATA_DIR": s.DataDir})
	for _, of := range []*apptest.Service{s, again} {
		id, stored := of.SubmitPriced("REST", "1", app, 1, 1, "EUR", "")
		if stored.Estimate.Min != 12000 || stored.PriceStatus != lead.Verified {
			t.Errorf("lead %s is stored as %+v", id, stored)
		}
	}

	none := object{"projectType": "unknown"}
	id, stored := s.SubmitPriced("REST", "2", none, 0, 0, "EUR", "")
	text := pdfText(t, s.Do("GET", "/api/quote/pdf?id="+id, "").Body)
	if !strings.Contains(text, "To be agreed") || strings.Contains(text, "€") {
		t.Errorf("%+v reads %s", stored.Estimate, text)
	}
	out, err := s.Command("leads", "list")
	if err != nil || strings.Count(out, "to be agreed") != 1 || strings.Contains(out, " 0 EUR") {
		t.Errorf("%v: listed as %s", err, out)
	}
	const fields = `max currency toBeAgreed } `
	shown := string(s.Answer(schema.RoleViewer,
		`{ leads { edges { node { priceStatus estimate { `+fields+`sentEstimate { `+fields+`} } } }`))
	if !strings.Contains(shown, `{"priceStatus":"UNPRICED","estimate":{"max":1500,"currency":"EUR","toBeAgreed":true},`+
		`"sentEstimate":{"max":0,"currency":"EUR","toBeAgreed":true}}`) ||
		!strings.Contains(shown, `{"priceStatus":"VERIFIED","estimate":{"max":18000,"currency":"EUR","toBeAgreed":false},`+
			`"sentEstimate":{"max":1,"currency":"EUR","toBeAgreed":false}}`) {
		t.Errorf("operators see %s", shown)
	}
}

// TestPricesOnTrial: without enforce the sent range stands.
func TestPricesOnTrial(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(onTrial, 12000), nil)
	app := object{"projectType": "web-app", "features": []any{"nope"}}
	for low, differs := range map[float64]bool{11900: false, 5000: true} {
		_, got := s.SubmitPriced("REST", fmt.Sprint("trial", low), app, low, 18000, "EUR", "")
		if got.Estimate.Min != low || got.PriceStatus != lead.NotVerified || got.Signals != nil || got.Price == nil ||
			got.Price.Differs != differs || got.Price.Lines != nil || got.Price.ValidUntil != "" {
			t.Errorf("stored %+v, %+v", got, got.Price)
		}
	}
}

// TestPricesDoubleNoLead: what is sent again after a change of the price is the same lead.
func TestPricesDoubleNoLead(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent("", 12000), nil)
	app := object{"projectType": "web-app"}
	first, _ := s.SubmitPriced("REST", "s", app, 1, 2, "EUR", "")

	changeContent(s, priceContent(enforced, 12000), 12000)
	second, _ := s.SubmitPriced("REST", "s", app, 1, 2, "EUR", strings.Repeat("a", 32))
	changeContent(s, priceContent(enforced, 20000), 20000)
	third, stored := s.SubmitPriced("REST", "s", app, 1, 2, "EUR", "")
	if first != second || first != third || stored.PriceStatus != "" || stored.Estimate.Min != 1 {
		t.Errorf("leads %s, %s and %s, stored %+v", first, second, third, stored)
	}
}

// TestPDFListsPrices in the language of its reader.
func TestPDFListsPrices(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000), nil)
	selections := object{
		"projectType": "web-app", "features": []any{"blog", "seo", "nope"}, "complexity": "simple", "timeline": "rush",
	}
	id, stored := s.SubmitPriced("REST", "pdf", selections, 1, 2, "EUR", "")
	if until := time.Now().UTC().AddDate(0, 0, 10).Format(time.DateOnly); stored.Price.ValidUntil != until {
		t.Errorf("valid until %s, want %s", stored.Price.ValidUntil, until)
	}

	day, _ := time.Parse(time.DateOnly, stored.Price.ValidUntil)
	for locale, want := range map[string][]string{
		"en": {"€12,000.00", "€333.33", "€2,586.67", "included", "to be confirmed", "To be confirmed: some of", "Valid until " + day.Format("2 January 2006")},
		"ro": {"Aplicație web", "12.000,00 EUR", "inclus", "de confirmat", "Valabil până la " + day.Format("2 ")},
		"es": {"por confirmar", "incluido", "Válido hasta el " + day.Format("2 de ")},
	} {
		text := pdfText(t, s.Do("GET", "/api/quote/pdf?locale="+locale+"&id="+id, "").Body)
		for _, words := range want {
			if !strings.Contains(text, words) {
				t.Errorf("%s: no %q in\n%s", locale, words, text)
			}
		}
	}
}

// pdfText returns the words of a document.
func pdfText(t *testing.T, file []byte) string {
	t.Helper()
	_, err := exec.LookPath("pdftotext")
	apptest.SkipWithout(t, err)

	cmd := exec.CommandContext(t.Context(), "pdftotext", "-layout", "-", "-")
	cmd.Stdin = bytes.NewReader(file)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestPriceCommandAndDoctor say what the published rules make of choices, what they can't
// use, and how leads compare with them.
func TestPriceCommandAndDoctor(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	s.Start()
	content := filepath.Join(s.Dir, "content.json")
	publish := func(text string) {
		t.Helper()
		if err := os.WriteFile(content, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	publish(priceContent(onTrial, 12000))

	choices := []string{"--project", "web-app", "--feature", "blog", "--feature", "nope", "--timeline", "rush"}
	out, code := s.Run(append([]string{"price"}, choices...)...)
	for _, want := range []string{
		"timeline     rush     Rush             2520", "rounding              Rounding         -20",
		"min                        15100", "max                        22700", "unpriced.0                 nope",
	} {
		if !strings.Contains(out, want) || code != 0 {
			t.Errorf("%d, no %q in\n%s", code, want, out)
		}
	}
	if out, code := s.Run("price", "--json", "--project", "web-app"); code != 0 || !strings.Contains(out, `"min": 12000`) {
		t.Errorf("%d: %s", code, out)
	}

	c, _ := s.Doctor(nil)
	c.Says(t, "prices", "OK", "rules with 7 options in EUR")
	publish(strings.Replace(priceContent(onTrial, 12000), `"price":600`, `"price":"600"`, 1))
	c, _ = s.Doctor(nil)
	c.Says(t, "prices", "WARNING", `document "o2": its price is not a number`)

	publish(priceContent(`"currency":"EUR","spreadPercent":-1,"roundTo":100`, 12000))
	c, _ = s.Doctor(nil)
	c.Says(t, "prices", "WARNING", `document "quoteRules": its spreadPercent is not a number from 0`)
	if out, code := s.Run("price", "--project", "web-app"); code != 2 || !strings.Contains(out, `there is no "min"`) {
		t.Errorf("%d: %s", code, out)
	}
}
