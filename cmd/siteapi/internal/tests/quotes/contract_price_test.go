package quotes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// priceContent returns the content of a calculator with prices and percentages. Without
// rules it has no rules document.
func priceContent(rules string, webApp int) string {
	docs := []string{
		`{"_id":"siteSettings","_type":"siteSettings","title":"Lumen"}`,
		fmt.Sprintf(`{"_id":"o1","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},`+
			`"label":{"en":"Web application","ro":"Aplicație web"},"price":%d}`, webApp),
		`{"_id":"o2","_type":"quoteOption","group":"feature","slug":{"current":"blog"},"label":{"en":"Blog"},"price":600}`,
		`{"_id":"o3","_type":"quoteOption","group":"feature","slug":{"current":"seo"},"price":333.33}`,
		`{"_id":"o4","_type":"quoteOption","group":"timeline","slug":{"current":"rush"},"label":{"en":"Rush"},"percent":20}`,
	}
	if rules != "" {
		docs = append(docs, `{"_id":"quoteRules","_type":"quoteRules",`+rules+`}`)
	}
	return "[" + strings.Join(docs, ",") + "]"
}

const (
	onTrial  = `"currency":"EUR","spreadPercent":50,"roundTo":100,"minimum":1000,"validDays":10`
	enforced = onTrial + `,"enforce":true`
)

// startPriced starts a service with the given content and settings.
func startPriced(t *testing.T, content string, env ...string) *apptest.Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return apptest.Start(t, append(env, "CMS_FILE="+path)...)
}

// publish replaces the content of a service that startPriced started.
func publish(s *apptest.Service, content string) {
	s.T.Helper()
	must(s.T, os.WriteFile(apptest.Lookup(s.Env)("CMS_FILE"), []byte(content), 0o600))
}

// waitForEstimate waits until the estimate of selections begins at low and has a
// revision, and returns the revision.
func waitForEstimate(s *apptest.Service, selections object, low float64) (revision string) {
	s.T.Helper()
	apptest.Eventually(s.T, fmt.Sprint("a price of ", low), func() bool {
		got := estimate(s, "REST", "en", selections)
		revision, _ = got.Data["revision"].(string)
		return got.Data["min"] == low && revision != ""
	})
	return revision
}

// estimate returns the estimate of selections.
func estimate(s *apptest.Service, endpoint, locale string, selections any) apptest.Outcome {
	s.T.Helper()
	return s.Through(endpoint, "estimateQuote", object{"selections": selections, "locale": locale})
}

// submitPriced submits a quote request, and returns the stored lead.
func submitPriced(
	s *apptest.Service, endpoint, session string, selections object, e lead.Estimate, revision string,
) lead.Lead {
	s.T.Helper()
	input := apptest.ValidLead(session + endpoint)
	input["selections"], input["locale"] = selections, "en"
	input["estimate"] = object{"min": e.Min, "max": e.Max, "currency": e.Currency, "revision": revision}
	s.TrackThrough("REST", object{"sessionId": session + endpoint})

	got := s.SubmitThrough(endpoint, input)
	stored, err := s.App.Data.Store.Lead(s.T.Context(), got.ID())
	if err != nil {
		s.T.Fatalf("%s: %v", got, err)
	}
	return stored
}

func euros(low, high float64) lead.Estimate {
	return lead.Estimate{Min: low, Max: high, Currency: "EUR"}
}

var webApp = object{"projectType": "web-app"}

func TestContractEstimate(t *testing.T) {
	t.Parallel()
	zone, offset := "Etc/GMT-14", 14*time.Hour // where the day is another one than in UTC
	if time.Now().UTC().Hour() < 11 {
		zone, offset = "Etc/GMT+12", -12*time.Hour
	}
	s := startPriced(t, priceContent(enforced, 12000), "TIME_ZONE="+zone)
	until := time.Now().UTC().Add(offset).AddDate(0, 0, 10).Format(time.DateOnly)
	for _, tt := range []struct{ selections, want string }{
		{ // a percentage, rounded once
			`{"projectType": "web-app", "features": ["blog", "seo", "seo"], "timeline": "rush"}`,
			`{"currency":"EUR","lines":[` +
				`{"amount":12000,"field":"projectType","flat":null,"label":"Aplicație web","percent":null,"quantity":null,"slug":"web-app","unit":null,"unitPrice":null},` +
				`{"amount":600,"field":"features","flat":null,"label":"Blog","percent":null,"quantity":null,"slug":"blog","unit":null,"unitPrice":null},` +
				`{"amount":333.33,"field":"features","flat":null,"label":"seo","percent":null,"quantity":null,"slug":"seo","unit":null,"unitPrice":null},` +
				`{"amount":2586.67,"field":"timeline","flat":null,"label":"Rush","percent":null,"quantity":null,"slug":"rush","unit":null,"unitPrice":null},` +
				`{"amount":-20,"field":"rounding","flat":null,"label":"Rotunjire","percent":null,"quantity":null,"slug":null,"unit":null,"unitPrice":null}],` +
				`"max":23300,"min":15500,"preview":false,"revision":"REVISION","tax":null,"taxNote":null,"unpriced":[],"validUntil":"` + until + `"}`,
		},
		{ // slugs without a price
			`{"projectType": "blog", "features": ["blog", "nope"]}`,
			`{"currency":"EUR","lines":[{"amount":600,"field":"features","flat":null,"label":"Blog","percent":null,"quantity":null,"slug":"blog","unit":null,"unitPrice":null},` +
				`{"amount":400,"field":"minimum","flat":null,"label":"Valoare minimă","percent":null,"quantity":null,"slug":null,"unit":null,"unitPrice":null}],` +
				`"max":1500,"min":1000,"preview":false,"revision":"REVISION","tax":null,"taxNote":null,"unpriced":["blog","nope"],"validUntil":"` + until + `"}`,
		},
		{ // nothing priced
			`{"projectType": "nope", "features": null}`,
			`{"currency":null,"lines":[],"max":null,"min":null,"preview":false,"revision":null,"tax":null,"taxNote":null,"unpriced":["nope"],"validUntil":null}`,
		},
	} {
		for _, endpoint := range apptest.Endpoints {
			var got apptest.Outcome
			apptest.Eventually(t, "a revision", func() bool { // there is none until the rules are stored
				got = estimate(s, endpoint, "ro", json.RawMessage(tt.selections))
				return got.Data["revision"] != nil || !strings.Contains(tt.want, "REVISION")
			})
			text, err := json.Marshal(got.Data)
			must(t, err)
			want := strings.Replace(tt.want, "REVISION", fmt.Sprint(got.Data["revision"]), 1)
			if string(text) != want || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v\ngot  %s\nwant %s", tt.selections, got.Header, text, want)
			}
		}
	}
}

// Without rules the range is null, and a lead keeps the estimate that was sent.
func TestEstimateWithoutRules(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent("", 12000))
	got := estimate(s, "REST", "en", webApp)
	if got.Data["min"] != nil || got.Data["revision"] != nil || !strings.Contains(got.Raw, `"unpriced":[]`) {
		t.Errorf("got %s", got)
	}
	stored := submitPriced(s, "REST", "1", webApp, euros(1, 1), "")
	if stored.PriceStatus != "" || stored.SentEstimate != nil || stored.Price != nil || stored.Signals != nil ||
		stored.Estimate != euros(1, 1) {
		t.Errorf("the lead is stored as %+v", stored)
	}
}

// A lead stores the computed price, with a signal if the client sent a different one.
// With an unpriced choice it stores the sent range instead, unless that is below the
// computed one. A difference up to the rounding step is tolerated. The tax is that of a range
// that the rules give. Where there is no price, the client sends 0 and 0.
func TestContractPriceOfALead(t *testing.T) {
	t.Parallel()
	dear := `{"_id":"o5","_type":"quoteOption","group":"feature","slug":"dear","price":1000000000},`
	s := startPriced(t, strings.Replace(priceContent(enforced+`,"taxPercent":10`, 12000), "[", "["+dear, 1))
	bogus := object{"projectType": "web-app", "features": []any{"nope"}}
	beyond := object{"projectType": "web-app", "features": []any{"dear"}}
	const mismatch, unpriced = lead.EstimateMismatch, lead.UnpricedChoice

	for i, tt := range []struct {
		selections object
		sent, want lead.Estimate
		status     lead.PriceStatus
		tax        float64 // of the lower end; 0: none
		signals    []lead.Signal
	}{
		{webApp, euros(12000, 18000), euros(12000, 18000), lead.Verified, 1200, nil},
		{webApp, euros(11900, 18100), euros(12000, 18000), lead.Verified, 1200, nil},
		{webApp, euros(11899.99, 18000), euros(12000, 18000), lead.Verified, 1200, []lead.Signal{mismatch}},
		{webApp, lead.Estimate{Min: 12000, Max: 18000, Currency: "JPY"}, euros(12000, 18000), lead.Verified, 1200, []lead.Signal{mismatch}},
		{bogus, euros(1, 1), euros(12000, 18000), lead.Unpriced, 1200, []lead.Signal{unpriced, mismatch}},
		{bogus, euros(11900, 18100), euros(11900, 18100), lead.Unpriced, 1190, []lead.Signal{unpriced}},
		{bogus, euros(11900, 20000), euros(11900, 20000), lead.Unpriced, 0, []lead.Signal{unpriced}},
		{bogus, euros(50000, 60000), euros(50000, 60000), lead.Unpriced, 0, []lead.Signal{unpriced}},
		{bogus, euros(0, 0), euros(12000, 18000), lead.Unpriced, 1200, []lead.Signal{unpriced, mismatch}},
		{object{"projectType": "nope"}, euros(0, 0), euros(1000, 1500), lead.Unpriced, 0, []lead.Signal{unpriced}},
		{object{"projectType": "nope"}, euros(1, 1), euros(1000, 1500), lead.Unpriced, 0, []lead.Signal{unpriced, mismatch}},
		{beyond, euros(0, 0), euros(1e9, 1e9), lead.Unpriced, 0, []lead.Signal{unpriced}},
		{beyond, euros(5, 5), euros(1e9, 1e9), lead.Unpriced, 0, []lead.Signal{unpriced, mismatch}},
	} {
		for _, endpoint := range apptest.Endpoints {
			got := submitPriced(s, endpoint, fmt.Sprint("lead-", i), tt.selections, tt.sent, "")
			if got.Estimate != tt.want || got.PriceStatus != tt.status || !slices.Equal(got.Signals, tt.signals) ||
				got.SentEstimate == nil || *got.SentEstimate != tt.sent || got.InReview {
				t.Errorf("%+v: stored %+v", tt, got)
			}
			if tax := got.Price.Tax; tax == nil && tt.tax != 0 || tax != nil && tax.Min != tt.tax {
				t.Errorf("%+v: the tax is %+v", tt, tax)
			}
		}
	}
}

// TestContractHonoredPrices submits prices that changed after they were shown, perhaps in
// another language than that of the request. Repeating a request after the change returns
// the same lead.
func TestContractHonoredPrices(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000))
	shown := waitForEstimate(s, webApp, 12000)
	shownIn := func(locale string) string {
		revision, _ := estimate(s, "REST", locale, webApp).Data["revision"].(string)
		return revision
	}
	shownInSpanish := shownIn("es")
	first := submitPriced(s, "REST", "same", webApp, euros(12000, 18000), "")
	publish(s, priceContent(enforced, 20000))
	current := waitForEstimate(s, webApp, 20000)
	inSpanish := shownIn("es")
	if again := submitPriced(s, "REST", "same", webApp, euros(12000, 18000), ""); again.ID != first.ID {
		t.Error("the changed price created another lead")
	}

	for name, tt := range map[string]struct {
		revision string
		ago      time.Duration // since the rules were replaced
		want     float64
		status   lead.PriceStatus
	}{
		"honored":       {shown, 0, 12000, lead.Honored},
		"in time":       {shown, 23 * time.Hour, 12000, lead.Honored},
		"too late":      {shown, 25 * time.Hour, 20000, lead.Verified},
		"no revision":   {"", 0, 20000, lead.Verified},
		"malformed":     {strings.ToUpper(shown) + "x", 0, 20000, lead.Verified},
		"never existed": {strings.Repeat("0", 32), 0, 20000, lead.Verified},
		"current":       {current, 0, 20000, lead.Verified},

		"in Spanish":          {shownInSpanish, 23 * time.Hour, 12000, lead.Honored},
		"in Spanish too late": {shownInSpanish, 25 * time.Hour, 20000, lead.Verified},
		"current in Spanish":  {inSpanish, 0, 20000, lead.Verified},
	} {
		for _, used := range [][2]string{{"en", shown}, {"en", current}, {"es", shownInSpanish}, {"es", inSpanish}} {
			r := store.Revision{Revision: used[1], Kind: store.Prices, Locale: used[0], Body: "{}"}
			must(t, s.App.Data.Store.UseRevision(t.Context(), r, time.Now().Add(-tt.ago)))
		}
		for _, endpoint := range apptest.Endpoints {
			got := submitPriced(s, endpoint, strings.ReplaceAll(name, " ", "-"), webApp, euros(12000, 18000), tt.revision)
			mismatch := slices.Contains(got.Signals, lead.EstimateMismatch)
			if got.Estimate.Min != tt.want || got.PriceStatus != tt.status || mismatch != (tt.want != 12000) {
				t.Errorf("%s: stored %+v", name, got)
			}
		}
	}
}

// A price that was shown is honored although its rules were unpublished, changed in their last
// day or are no longer enforced. Without a revision, all is as it is without rules.
func TestUnpublishedRulesAreHonored(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000))
	waitForEstimate(s, webApp, 12000)
	shown := estimate(s, "REST", "en", webApp).Data
	revision := fmt.Sprint(shown["revision"])
	before := revision

	for i, rules := range []string{strings.Replace(enforced, `"validDays":10`, `"validDays":1`, 1), onTrial, ""} {
		publish(s, priceContent(rules, 20000))
		apptest.Eventually(t, "the rules are replaced", func() bool {
			now := fmt.Sprint(estimate(s, "REST", "en", webApp).Data["revision"])
			replaced := now != before
			before = now
			return replaced
		})
		for j, sent := range []lead.Estimate{euros(12000, 18000), euros(1, 2)} {
			got := submitPriced(s, "REST", fmt.Sprintf("honored-%d-%d", i, j), webApp, sent, revision)
			mismatch := slices.Contains(got.Signals, lead.EstimateMismatch)
			if got.Estimate != euros(12000, 18000) || got.PriceStatus != lead.Honored || mismatch != (j == 1) ||
				got.Price.ValidUntil != shown["validUntil"] {
				t.Errorf("with the rules %q, %v is stored as %+v until %v, want %v", rules, sent, got, got.Price.ValidUntil, shown["validUntil"])
			}
		}
	}
	if got := submitPriced(s, "REST", "unpriced", webApp, euros(1, 2), ""); got.Estimate != euros(1, 2) || got.PriceStatus != "" {
		t.Errorf("without rules and a revision: %+v", got)
	}
}

// Unusable rules leave the last usable ones in force, even after a restart. An estimate
// without any price is shown as to be agreed.
func TestUnusableRulesLeaveTheLastInForce(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000))
	waitForEstimate(s, webApp, 12000)
	publish(s, priceContent(strings.Replace(enforced, `"roundTo":100`, `"roundTo":0`, 1), 12000))
	s.Logs("its roundTo is not a number")

	again := apptest.Start(t, s.Env...)
	for _, of := range []*apptest.Service{s, again} {
		if stored := submitPriced(of, "REST", "1", webApp, euros(1, 1), ""); stored.Estimate != euros(12000, 18000) {
			t.Errorf("the lead is stored as %+v", stored)
		}
	}

	submitPriced(s, "REST", "2", object{"projectType": "unknown"}, euros(0, 0), "")
	out := s.Prints("leads list").Out
	if strings.Count(out, "to be agreed") != 1 || strings.Contains(out, " 0 EUR") {
		t.Errorf("listed as %s", out)
	}
	const fields = `{ max currency toBeAgreed } `
	shown := string(s.Response(schema.RoleViewer,
		`{ leads { edges { node { priceStatus estimate `+fields+`sentEstimate `+fields+`} } } }`))
	if !strings.Contains(shown, `{"priceStatus":"UNPRICED","estimate":{"max":1500,"currency":"EUR","toBeAgreed":true},`+
		`"sentEstimate":{"max":0,"currency":"EUR","toBeAgreed":true}}`) ||
		!strings.Contains(shown, `{"priceStatus":"VERIFIED","estimate":{"max":18000,"currency":"EUR","toBeAgreed":false},`+
			`"sentEstimate":{"max":1,"currency":"EUR","toBeAgreed":false}}`) {
		t.Errorf("operators see %s", shown)
	}
}

// Without enforce, the lead keeps the range that was sent. It has the tax that the visitor saw,
// but none on a range that the rules do not give.
func TestPricesOnTrial(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(onTrial+`,"taxPercent":19,"taxLabel":"VAT"`, 12000))
	taxed := &lead.Tax{Percent: 19, Labels: lead.Localized{"en": "VAT"}, Min: 2261, Max: 3420}
	nope := object{"projectType": "nope"}
	both := object{"projectType": "web-app", "features": []any{"nope"}}
	for _, tt := range []struct {
		name       string
		selections object
		sent       lead.Estimate
		differs    bool
		tax        *lead.Tax
	}{
		{"near", webApp, euros(11900, 18000), false, taxed},
		{"other range", webApp, euros(5000, 18000), true, nil},
		{"other currency", webApp, lead.Estimate{Min: 11900, Max: 18000, Currency: "USD"}, true, nil},
		{"some unpriced", both, euros(11900, 18000), false, taxed},
		{"some unpriced, other range", both, euros(50000, 60000), false, nil},
		{"none priced", nope, euros(11900, 18000), false, nil},
		{"none priced, to be agreed", nope, euros(0, 0), false, nil},
		{"to be agreed", webApp, euros(0, 0), true, nil},
	} {
		for _, endpoint := range apptest.Endpoints {
			session := strings.NewReplacer(" ", "-", ",", "").Replace(tt.name)
			got := submitPriced(s, endpoint, session, tt.selections, tt.sent, "")
			if got.Estimate != tt.sent || got.PriceStatus != lead.NotVerified || got.Signals != nil || got.Price == nil ||
				got.Price.Differs != tt.differs || got.Price.Lines != nil || got.Price.ValidUntil != "" {
				t.Errorf("%s, %s: stored %+v, %+v", tt.name, endpoint, got, got.Price)
			}
			if got.Price != nil && !reflect.DeepEqual(got.Price.Tax, tt.tax) {
				t.Errorf("%s, %s: the tax is %+v, want %+v", tt.name, endpoint, got.Price.Tax, tt.tax)
			}

			file := apptest.PDFText(t, s.Do("GET", "/api/quote/pdf?id="+got.ID, "").Body)
			if stated := strings.Contains(plain(file), "19% VAT €2,261 – €3,420"); stated != (tt.tax != nil) {
				t.Errorf("%s, %s: the PDF says\n%s", tt.name, endpoint, file)
			}
		}
	}
}

// The lines add up to the lower bound, also if the discounts take more than everything.
func TestDiscountsBeyondEverything(t *testing.T) {
	t.Parallel()
	discounts := `{"_id":"d1","_type":"quoteOption","group":"feature","slug":"partner","percent":-70},` +
		`{"_id":"d2","_type":"quoteOption","group":"timeline","slug":"loyal","percent":-60},`
	selections := object{"projectType": "web-app", "features": []any{"blog", "partner"}, "timeline": "loyal"}
	for rules, want := range map[string]string{
		onTrial: "1000 to 1500: web-app 12000; blog 600; partner -8820; loyal -7560; minimum 4780",
		`"currency":"EUR","spreadPercent":50,"roundTo":100`: "<nil> to <nil>: ",
	} {
		s := startPriced(t, strings.Replace(priceContent(rules, 12000), "[", "["+discounts, 1))
		for _, endpoint := range apptest.Endpoints {
			got := estimate(s, endpoint, "en", selections).Data
			if text := fmt.Sprintf("%v to %v: %s", got["min"], got["max"], lines(got)); text != want {
				t.Errorf("%s, %s: %s, want %s", rules, endpoint, text, want)
			}
		}
	}
}

// The PDF lists the prices in the requested language.
func TestPDFListsPrices(t *testing.T) {
	t.Parallel()
	s := startPriced(t, priceContent(enforced, 12000))
	selections := object{"projectType": "web-app", "features": []any{"seo", "nope"}, "timeline": "rush"}
	id := submitPriced(s, "REST", "pdf", selections, euros(1, 2), "").ID

	for locale, want := range map[string][]string{
		"en": {"€12,000.00", "€333.33", "€2,466.67", "to be confirmed", "Valid until "},
		"ro": {"Aplicație web", "12.000,00 €", "de confirmat", "Valabil până la "},
	} {
		text := apptest.PDFText(t, s.Do("GET", "/api/quote/pdf?locale="+locale+"&id="+id, "").Body)
		for _, words := range want {
			if !strings.Contains(text, words) {
				t.Errorf("%s: no %q in\n%s", locale, words, text)
			}
		}
	}
}
