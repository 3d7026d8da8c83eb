package quotes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// firm is one of the three firms whose prices the manual of operations calculates by hand.
type firm struct {
	rules   string
	options []string
	kind    string // project type
	chosen  string // the other selections
	counts  string // quantities

	low, high float64
	lines     string            // of the estimate: slug, amount and its parts
	tax       string            // of the estimate
	shown     map[string]string // words of the PDF and the page, by locale
}

func firms() map[string]firm {
	return map[string]firm{
		"cleaner": {
			rules: `"currency":"EUR","minimum":80,"taxPercent":19,"taxLabel":{"en":"VAT","es":"IVA","ro":"TVA"}`,
			options: []string{
				`"group":"projectType","slug":"cleaning","label":{"en":"Cleaning","es":"Limpieza","ro":"Curățenie"},"price":30,
					"unit":"m²","unitPrice":2.5,"minQuantity":10,"maxQuantity":500,"step":0.5`,
				`"group":"timeline","slug":"weekly","label":{"en":"Weekly"},"percent":-10`,
			},
			kind: "cleaning", chosen: `"timeline":"weekly"`, counts: `{"slug":"cleaning","count":120}`,
			low: 297, high: 327,
			lines: "cleaning 330 120 m² 2.5 30 0; weekly -33",
			tax:   `{"included":false,"label":"VAT","max":62.13,"min":56.43,"percent":19}`,
			shown: map[string]string{
				"en": "Cleaning · 120 m² × 2.50 + 30|€330|-€33|Net|€297 – €327|19% VAT|€56.43 – €62.13|Total|€353.43 – €389.13",
				"es": "Limpieza · 120 m² × 2,50 + 30|330 €|Neto|19 % IVA|56,43 – 62,13 €|353,43 – 389,13 €",
				"ro": "Curățenie · 120 m² × 2,50 + 30|330 €|Net|19 % TVA|56,43 – 62,13 €|353,43 – 389,13 €",
			},
		},
		"translator": {
			rules: `"currency":"EUR","taxNote":{"en":"Exempt from VAT.","es":"Exento de IVA.","ro":"Scutit de TVA."}`,
			options: []string{
				`"group":"projectType","slug":"translation","label":{"en":"Translation"},"price":0`,
				`"group":"feature","slug":"german","label":{"en":"German","es":"Alemán","ro":"Germană"},"graduated":true,
					"unit":{"en":"words","es":"palabras","ro":"cuvinte"},"tiers":[{"upTo":1000,"unitPrice":0.12},{"unitPrice":0.1}]`,
				`"group":"feature","slug":"english","label":{"en":"English"},"unit":{"en":"words"},"unitPrice":0.12`,
				`"group":"timeline","slug":"rush","label":{"en":"Rush"},"percent":25`,
			},
			kind: "translation", chosen: `"features":["german","english"],"timeline":"rush"`,
			counts: `{"slug":"german","count":1250},{"slug":"english","count":300}`,
			low:    226, high: 249,
			lines: "translation 0; german 145 1250 words null 0 0; english 36 300 words 0.12 0 0; rush 45.25; rounding -0.25",
			tax:   "null",
			shown: map[string]string{
				"en": "German · 1,250 words|€145.00|English · 300 words × 0.12|Exempt from VAT.",
				"es": "Alemán · 1.250 palabras|145,00 €|300 words × 0,12|Exento de IVA.",
				"ro": "Germană · 1.250 cuvinte|145,00 €|300 words × 0,12|Scutit de TVA.",
			},
		},
		"printer": {
			rules: `"currency":"EUR","taxPercent":8,"taxIncluded":true,"taxLabel":"VAT"`,
			options: []string{
				`"group":"projectType","slug":"flyers","label":{"en":"Flyers"},"price":45,"unit":{"en":"copies","ro":"bucăți"},
					"tiers":[{"upTo":999.99,"unitPrice":0.06},{"unitPrice":0.035}],"minQuantity":100,"step":50`,
			},
			kind: "flyers", counts: `{"slug":"flyers","count":2500}`,
			low: 133, high: 146,
			lines: "flyers 132.5 2500 copies 0.035 45 0; rounding 0.5",
			tax:   `{"included":true,"label":"VAT","max":10.81,"min":9.85,"percent":8}`,
			shown: map[string]string{
				"en": "Flyers · 2,500 copies × 0.035 + 45|€132.50|including 8% VAT|€9.85 – €10.81",
				"es": "2.500 copies × 0,035 + 45|8 % VAT incluido|9,85 – 10,81 €",
				"ro": "2.500 bucăți × 0,035 + 45|inclusiv 8 % VAT|9,85 – 10,81 €",
			},
		},
	}
}

// content returns the documents of a firm, as the Studio stores them.
func (f firm) content() string {
	docs := []string{`{"_id":"siteSettings","_type":"siteSettings","title":"Lumen"}`,
		`{"_id":"quoteRules","_type":"quoteRules","spreadPercent":10,"roundTo":1,"enforce":true,` + f.rules + `}`}
	for i, option := range f.options {
		docs = append(docs, fmt.Sprintf(`{"_id":"o%d","_type":"quoteOption",%s}`, i, option))
	}
	return "[" + strings.Join(docs, ",") + "]"
}

// TestFirms prices the choices of each firm through both endpoints, submits them, and reads the
// result in the PDF, on the page, and where operators see it.
func TestFirms(t *testing.T) {
	t.Parallel()
	for name, f := range firms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startPriced(t, f.content())
			var selections object
			must(t, json.Unmarshal([]byte(`{"projectType":"`+f.kind+`","quantities":[`+f.counts+`]`+
				strings.TrimSuffix(","+f.chosen, ",")+`}`), &selections))

			for _, endpoint := range apptest.Endpoints {
				got := estimate(s, endpoint, "en", selections)
				tax, _ := json.Marshal(got.Data["tax"])
				if got.Data["min"] != f.low || got.Data["max"] != f.high || string(tax) != f.tax || lines(got.Data) != f.lines {
					t.Errorf("%s: %s\nlines %q, tax %s", endpoint, got, lines(got.Data), tax)
				}
			}

			stored := submitPriced(s, "REST", name, selections, euros(f.low, f.high), "")
			if stored.Estimate != euros(f.low, f.high) || stored.PriceStatus != lead.Verified || stored.Signals != nil {
				t.Errorf("stored as %+v, %+v", stored, stored.Price)
			}
			for locale, shown := range f.shown {
				address := "?locale=" + locale + "&id=" + stored.ID
				file := apptest.PDFText(t, s.Do("GET", "/api/quote/pdf"+address, "").Body)
				page := string(s.Do("GET", "/api/quote/page"+address, "").Body)
				for part := range strings.SplitSeq(shown, "|") {
					if !strings.Contains(plain(file), part) || !strings.Contains(plain(page), part) {
						t.Errorf("%s: no %q in\n%s\n%s", locale, part, plain(file), page)
					}
				}
				if strings.Contains(page, "any taxes that apply") {
					t.Errorf("%s: the page adds taxes to what it says of them", locale)
				}
			}

			out := s.Prints("leads show " + stored.ID).Out
			for _, q := range stored.Selections.Quantities {
				if !strings.Contains(out, q.Slug) || !strings.Contains(out, q.Unit()) {
					t.Errorf("operators see no quantity of %s in %s", q.Slug, out)
				}
			}
		})
	}
}

// plain replaces the blanks that keep words on one line, and joins the lines.
func plain(text any) string {
	joined := strings.Join(strings.Fields(fmt.Sprintf("%s", text)), " ")
	return strings.NewReplacer("\u00a0", " ", "&#43;", "+").Replace(joined)
}

// lines returns the lines of an estimate on one line.
func lines(estimate object) string {
	var texts []string
	list, _ := estimate["lines"].([]any)
	for _, item := range list {
		line, _ := item.(object)
		slug := line["slug"]
		if slug == nil {
			slug = line["field"]
		}
		text := fmt.Sprint(slug, " ", line["amount"])
		if line["quantity"] != nil {
			each, _ := json.Marshal(line["unitPrice"])
			text += fmt.Sprint(" ", line["quantity"], " ", line["unit"], " ", string(each), " ", line["flat"], " ", line["percent"])
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// TestQuantities sends quantities of all kinds: what is malformed is refused by its field, and
// what an option does not allow has no price, which is an error only with strict.
func TestQuantities(t *testing.T) {
	t.Parallel()
	cleaner := firms()["cleaner"]
	s := startPriced(t, cleaner.content())
	for _, tt := range []struct{ quantities, lenient, strict string }{
		{`[{"slug":"cleaning","count":10}]`, "", ""},
		{`[{"slug":"cleaning","count":10.5},{"slug":"windows","count":3}]`, "", ""}, // not chosen
		{`[{"slug":"cleaning","count":20},{"slug":"weekly","count":3}]`, "", ""},    // has no unit
		{`[]`, "unpriced", "selections.quantities quantity_required"},
		{`null`, "unpriced", "selections.quantities quantity_required"},
		{`[{"slug":"cleaning","count":9.5}]`, "unpriced", "selections.quantities[0].count out_of_bounds"},
		{`[{"slug":"cleaning","count":500.5}]`, "unpriced", "selections.quantities[0].count out_of_bounds"},
		{`[{"slug":"x","count":1},{"slug":"cleaning","count":10.25}]`, "unpriced", "selections.quantities[1].count out_of_step"},
		{`[{"slug":"cleaning","count":0}]`, "selections.quantities[0].count below_min", ""},
		{`[{"slug":"cleaning","count":1000000.5}]`, "selections.quantities[0].count above_max", ""},
		{`[{"slug":"cleaning","count":10.125}]`, "selections.quantities[0].count too_precise", ""},
		{`[{"slug":"cleaning","count":"10"}]`, "selections.quantities[0].count wrong_type", ""},
		{`[{"slug":"cleaning"}]`, "selections.quantities[0].count required", ""},
		{`[{"slug":"Cleaning","count":10}]`, "selections.quantities[0].slug not_a_slug", ""},
		{`[{"slug":"cleaning","count":10},{"slug":"cleaning","count":11}]`, "selections.quantities[1].slug repeated", ""},
	} {
		var selections object
		must(t, json.Unmarshal([]byte(`{"projectType":"cleaning","timeline":"weekly","quantities":`+tt.quantities+`}`), &selections))
		for _, endpoint := range apptest.Endpoints {
			got := estimate(s, endpoint, "en", selections)
			outcome := codes(got)
			if list, _ := got.Data["unpriced"].([]any); len(list) > 0 {
				outcome = "unpriced"
			}
			if outcome != tt.lenient {
				t.Errorf("%s %s: %s, want %s: %s", endpoint, tt.quantities, outcome, tt.lenient, got)
			}
		}

		got := s.GraphQLOutcome(s.Query(`query($s: EstimateSelectionsInput!) {
			estimateQuote(selections: $s, strict: true) { min } }`, object{"s": selections}))
		if want := tt.strict; want != "" && codes(got) != want || want == "" && tt.lenient == "" && codes(got) != "" {
			t.Errorf("strict %s: %s, want %q", tt.quantities, got, want)
		}
	}

	// On submission they are never a refusal, and quantities tell requests apart.
	sent := object{"projectType": "cleaning", "quantities": []object{{"slug": "cleaning", "count": 7}, {"slug": "x", "count": 1}}}
	first := submitPriced(s, "REST", "seven", sent, euros(100, 110), "")
	if first.PriceStatus != lead.Unpriced || first.Estimate != euros(100, 110) || len(first.Selections.Quantities) != 1 ||
		first.Selections.QuantityText() != "cleaning=7 m²" || first.Price.Tax != nil {
		t.Errorf("stored as %+v, %+v", first, first.Price)
	}
	again := submitPriced(s, "REST", "seven", sent, euros(100, 110), "")
	sent["quantities"] = []object{{"slug": "cleaning", "count": 20}}
	if other := submitPriced(s, "REST", "seven", sent, euros(100, 110), ""); again.ID != first.ID || other.ID == first.ID {
		t.Errorf("the leads are %s, %s and %s", first.ID, again.ID, other.ID)
	}
}

// codes returns the fields of an error with their codes.
func codes(o apptest.Outcome) string {
	type fields []struct{ Field, Code string }
	var direct struct{ Errors fields }
	var inExtensions struct {
		Errors []struct{ Extensions struct{ Errors fields } }
	}
	_ = json.Unmarshal([]byte(o.Raw), &direct)
	_ = json.Unmarshal([]byte(o.Raw), &inExtensions)

	list := direct.Errors
	if len(inExtensions.Errors) > 0 && len(inExtensions.Errors[0].Extensions.Errors) > 0 {
		list = inExtensions.Errors[0].Extensions.Errors
	}
	var texts []string
	for _, e := range list {
		texts = append(texts, e.Field+" "+e.Code)
	}
	return strings.Join(texts, "; ")
}

// TestQuoteOptions reads the choices as a form needs them, without a field of the CMS.
func TestQuoteOptions(t *testing.T) {
	t.Parallel()
	s := startPriced(t, firms()["printer"].content())
	const want = `{"field":"projectType","slug":"flyers","label":"Flyers","order":null,"currency":"EUR","price":45,"percent":0,"unit":"bucăți",` +
		`"unitPrice":null,"tiers":[{"upTo":999.99,"unitPrice":0.06},{"upTo":null,"unitPrice":0.035}],"graduated":false,` +
		`"minQuantity":100,"maxQuantity":1e+06,"step":50,"quantity":100}`
	route := s.Do("GET", "/api/quote/options?locale=ro", "")
	if string(route.Body) != "["+want+"]" || !strings.Contains(route.Header.Get("Cache-Control"), "public") {
		t.Errorf("the route gives %v %s", route.Header, route.Body)
	}
	graph := s.Query(`{ quoteOptions(locale: ro) { field slug label order currency price percent unit unitPrice
		tiers { upTo unitPrice } graduated minQuantity maxQuantity step quantity } }`, nil)
	if string(graph.Body) != `{"data":{"quoteOptions":[`+want+`]}}` {
		t.Errorf("GraphQL gives %s", graph.Body)
	}
}
