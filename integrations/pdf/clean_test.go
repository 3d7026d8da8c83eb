package pdf

import (
	"strings"
	"testing"
	"unicode/utf8"

	"siteapi/integrations/pdf/font"
)

func families(t testing.TB) (latin, wide *font.Family) {
	t.Helper()
	latin, err := font.Latin()
	if err != nil {
		t.Fatal(err)
	}
	if wide, err = font.Wide(); err != nil {
		t.Fatal(err)
	}
	return latin, wide
}

func TestClean(t *testing.T) {
	t.Parallel()
	latin, wide := families(t)
	for name, c := range map[string]struct{ in, latin, wide string }{
		"plain":               {"Ștefania Țurcanu", "Ștefania Țurcanu", "Ștefania Țurcanu"},
		"decomposed letters":  {"S\u0326tefan n\u0303", "Ștefan ñ", "Ștefan ñ"},
		"spaces":              {"  a\t\n b\u2028c  ", "a b c", "a b c"},
		"controls":            {"a\x00b\x07c\x1b[31m\x7f\u0085d", "abc[31m d", "abc[31m d"},
		"direction marks":     {"user\u202egpj.exe\u2066\u200f", "usergpj.exe", "usergpj.exe"},
		"invisible":           {"a\u200bb\ufeffc\u00add", "abcd", "abcd"},
		"invalid UTF-8":       {"a\xff\xc3b", "ab", "ab"},
		"emoji":               {"Ana 👩‍👩‍👧 🚀 Pop", "Ana Pop", "Ana Pop"},
		"only emoji":          {"🚀🚀", "", ""},
		"ligature":            {"ﬁne", "fine", "fine"},
		"full width":          {"Ａｎａ", "Ana", "Ana"},
		"mathematical":        {"\U0001d400na", "Ana", "Ana"},
		"first above 16 bits": {"\U00010000", "", ""},
		"Cyrillic":            {"Юлия Pop", "□ Pop", "Юлия Pop"},
		"Chinese":             {"Ana 中文 Pop", "Ana □ Pop", "Ana □ Pop"},
		"accents alone":       {"a\u02dab \u02da", "a b", "a b"},
		"only Arabic":         {"محمد علي", "", ""},
		"Hebrew":              {"דוד", "", "דוד"},
		"no-break space":      {"12\u00a0000", "12 000", "12 000"},
		"empty":               {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clean(c.in, latin); got != c.latin {
				t.Errorf("in Latin: %q, want %q", got, c.latin)
			}
			if got := clean(c.in, wide); got != c.wide {
				t.Errorf("with all alphabets: %q, want %q", got, c.wide)
			}
		})
	}
}

func TestCleanBoundsLength(t *testing.T) {
	t.Parallel()
	latin, _ := families(t)
	got := clean(strings.Repeat("é ", 100_000), latin)
	if n := utf8.RuneCountInString(got); n > 2*longest+1 {
		t.Errorf("%d characters are left", n)
	}
	if !strings.HasSuffix(got, "…") {
		t.Errorf("the cut is not shown: …%q", got[len(got)-10:])
	}
}

func FuzzClean(f *testing.F) {
	latin, wide := families(f)
	f.Add("Ștefan 🚀 \u202e\x00 中 ﬁ דוד")
	f.Fuzz(func(t *testing.T, text string) {
		for _, family := range []*font.Family{latin, wide} {
			got := clean(text, family)
			for _, r := range got {
				if !family.Has(r) {
					t.Fatalf("%q became %q with U+%04X, which has no glyph", text, got, r)
				}
			}
			if again := clean(got, family); again != got {
				t.Fatalf("%q became %q, and that %q", text, got, again)
			}
			for _, line := range wrap(got, family.Bold, 12, 30) {
				if w := width(line, family.Bold, 12); w > 30 {
					t.Fatalf("the line %q is %.2f mm wide", line, w)
				}
			}
		}
	})
}

func TestVisual(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Ana Pop":          "Ana Pop",
		"שלום":             "םולש",
		"Ana שלום כהן Pop": "Ana ןהכ םולש Pop",
	} {
		if got := visual(in); got != want {
			t.Errorf("visual(%q) = %q, want %q", in, got, want)
		}
	}
}
