package pdf

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/pdf/font"
)

func family(t *testing.T) *font.Family {
	t.Helper()
	f, err := font.Cut()
	must(t, err)
	return f
}

func wordsOf(t *testing.T, locale string) *Words {
	t.Helper()
	w, err := WordsIn(locale)
	must(t, err)
	return w
}

func TestWrap(t *testing.T) {
	t.Parallel()
	s := newTypescale(family(t), newPalette(Company{})).body
	for text, want := range map[string]string{
		"one two three four":     "one two/three four",
		strings.Repeat("m", 14):  "mmmmmmm/mmmmmmm",
		"":                       "",
		"first.name@example.com": "first.name@/example.com",
	} {
		if got := strings.Join(s.wrap(text, 20), "/"); got != want {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}

func TestWordsAreComplete(t *testing.T) {
	t.Parallel()
	family := family(t)
	english := textsOf(t, wordsOf(t, "en"))
	seen := map[string]string{}
	files, err := fs.Glob(texts, "words/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("the languages are %v, %v", files, err)
	}

	for _, file := range files {
		locale := strings.TrimSuffix(path.Base(file), ".json")
		w := wordsOf(t, locale)

		texts := textsOf(t, w)
		for name := range english {
			if strings.TrimSpace(texts[name]) == "" {
				t.Errorf("integrations/pdf/%s lacks the text %s", file, name)
			}
		}
		for name, text := range texts {
			if english[name] == "" {
				t.Errorf("integrations/pdf/words/en.json lacks the text %s of %s", name, locale)
			}
			if strings.ContainsAny(text, "şţŞŢ") {
				t.Errorf("%s has a letter with a cedilla instead of a comma below: %q", locale, text)
			}
			if got := clean(text, family, map[string]bool{}); got != text {
				t.Errorf("%s: %q is not printable unchanged: %q", locale, text, got)
			}

			if other, ok := seen[text]; ok && len(text) > 12 && other != locale {
				t.Errorf("%s and %s share %q", locale, other, text)
			}
			seen[text] = locale
		}

		for _, text := range []string{
			fmt.Sprintf(w.Page, 1, 12),
			fmt.Sprintf(w.Mail.Visitor.Hello, "Ana"),
			fmt.Sprintf(w.Mail.Sales.Subject, "Ana Pop"),
			w.Mail.Languages[locale],
		} {
			if strings.Contains(text, "%!") || text == "" {
				t.Errorf("%s: a formatted text is %q", locale, text)
			}
		}
	}
}

// textsOf returns all texts of a language by their names, such as ".Mail.Languages.ro".
func textsOf(t *testing.T, w *Words) map[string]string {
	t.Helper()
	data, err := json.Marshal(w)
	must(t, err)
	var value any
	must(t, json.Unmarshal(data, &value))
	texts := map[string]string{}
	collect(value, "", texts)
	return texts
}

func collect(value any, name string, into map[string]string) {
	switch v := value.(type) {
	case string:
		into[name] = v
	case []any:
		for i, below := range v {
			collect(below, fmt.Sprint(name, ".", i), into)
		}
	case map[string]any:
		for key, below := range v {
			collect(below, name+"."+key, into)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	// Late in the evening in UTC, it is the next day east of Greenwich.
	at := time.Date(2026, time.December, 31, 23, 30, 0, 0, time.UTC).In(time.FixedZone("", 3600))
	for want, locale := range map[string]string{
		"1 January 2027":     "en",
		"1 de enero de 2027": "es",
		"1 ianuarie 2027":    "ro",
	} {
		if got := wordsOf(t, locale).DateOf(at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	family := family(t)
	for _, c := range []struct {
		locale   string
		min, max float64
		currency string
		want     string
	}{
		{"en", 12000, 18000, "EUR", "€12,000 – €18,000"},
		{"es", 12000, 18000, "EUR", "12.000 – 18.000\u00a0€"},
		{"ro", 12000, 18000, "EUR", "12.000 – 18.000\u00a0€"},
		{"en", 1200.5, 1800, "USD", "$1,200.50 – $1,800.00"},
		{"es", 1200.5, 1800, "USD", "1.200,50 – 1.800,00\u00a0$"},
		{"en", 5000, 5000, "RON", "lei\u00a05,000"},
		{"en", 1234.5, 2000, "RSD", "RSD\u00a01,234.5 – RSD\u00a02,000.0"}, // usually written without cents
		{"en", 1234, 2000, "RSD", "RSD\u00a01,234 – RSD\u00a02,000"},
		{"es", 0.125, 12, "BHD", "0,125 – 12,000\u00a0BHD"},
		{"en", 0, 1e9, "JPY", "¥0 – ¥1,000,000,000"},
		{"en", 100, 200, "INR", "INR\u00a0100 – INR\u00a0200"}, // The typeface has no rupee sign.
		{"en", 100, 200, "nonsense🚀", "nonsense\u00a0100 – nonsense\u00a0200"},
		{"en", 0, 0, "EUR", "To be agreed"},
		{"es", 0, 0, "EUR", "A convenir"},
		{"ro", 0, 0, "EUR", "De stabilit"},
	} {
		s := &sheet{family: family, missing: map[string]bool{}}
		e := lead.Estimate{Min: c.min, Max: c.max, Currency: s.print(c.currency)}
		words := wordsOf(t, c.locale)
		words.shown = family.Has
		if got := words.Price(&lead.Lead{Estimate: e}); got != c.want {
			t.Errorf("%s, %v to %v %s: got %q, want %q", c.locale, c.min, c.max, c.currency, got, c.want)
		}
	}
}

// TestGuidance checks that a range is marked as to be confirmed only if a choice has no
// price.
func TestGuidance(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]string{"en": "To be confirmed", "es": "Por confirmar", "ro": "De confirmat"} {
		for _, status := range []lead.PriceStatus{"", lead.Verified, lead.Honored, lead.NotVerified, lead.Unpriced} {
			l := lead.Lead{PriceStatus: status, Estimate: lead.Estimate{Max: 1}}
			if got := wordsOf(t, locale).Guidance(&l); strings.Contains(got, want) != (status == lead.Unpriced) {
				t.Errorf("%s, %s: %s", locale, status, got)
			}
		}
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"blog": "Jurnal", "empty": "  "}
	for slug, want := range map[string]string{
		"blog":        "Jurnal",
		"empty":       "Empty",
		"web-app":     "Web app",
		"e_mail-list": "E mail list",
		"3d":          "3d",
		"":            "",
	} {
		if got := Label(slug, labels); got != want {
			t.Errorf("label(%q) = %q, want %q", slug, got, want)
		}
	}
}

func TestPaletteCanBeRead(t *testing.T) {
	t.Parallel()
	for _, accent := range []string{"#ffcc00", "#ffffff", "#000000", "#00ff00", "#1f4fd8", "nonsense", ""} {
		p := newPalette(Company{Accent: accent})
		if got := contrast(p.strong); got < 4.5 {
			t.Errorf("small text in the accent %q has a contrast of %.1f", accent, got)
		}
		if got := contrast(p.tint); got > 1.3 {
			t.Errorf("the background for the accent %q is dark: %.1f", accent, got)
		}
	}
	if a, b := newPalette(Company{Accent: "#ab"}), newPalette(Company{}); a.accent != b.accent {
		t.Error("a malformed accent is not ignored")
	}
}
