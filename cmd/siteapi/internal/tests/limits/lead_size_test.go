package limits

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
)

// letters returns random letters, joined into words. They can't be compressed.
func letters(first, last rune, word, n int) string {
	var text strings.Builder
	for i := range n {
		if word > 0 && i%word == word-1 {
			text.WriteByte(' ')
		} else {
			text.WriteRune(first + rand.N(last-first))
		}
	}
	return strings.TrimSpace(text.String())
}

func wordsOf(word, n int) string { return letters(0x20000, 0x2a000, word, n) } // four bytes each
func slug() string               { return letters('a', 'z', 0, 64) }

// with returns a lead of a session with other fields, among them the longest that are indexed.
func with(session string, fields object) object {
	input := apptest.NewLead((session + "-" + slug() + slug())[:128])
	contact, _ := input["contact"].(object)
	contact["email"] = slug() + "@" + slug()[:59] + "." + slug()[:59] + "." + slug()[:59] + ".example"
	for name, value := range fields {
		if name == "firstName" || name == "lastName" || name == "company" {
			contact[name] = value
		} else {
			input[name] = value
		}
	}
	return input
}

func consents(n, length int, text func(int) string) (list []any) {
	for range n {
		list = append(list, object{"purpose": slug(), "given": true, "text": text(length)})
	}
	return list
}

// A lead takes at most 20 KB on disk, whatever its texts are.
func TestSizeOfALead(t *testing.T) {
	t.Parallel()
	rare := func(n int) string { return wordsOf(0, n) }
	largest := map[string]func() object{
		"one word":   func() object { return object{"message": wordsOf(0, 2000)} },
		"many words": func() object { return object{"message": wordsOf(5, 2000)} },
		"many names": func() object {
			return object{"firstName": wordsOf(3, 99), "lastName": wordsOf(3, 99), "company": wordsOf(3, 99), "message": wordsOf(4, 1700)}
		},
		"one wording":    func() object { return object{"consents": consents(1, 1000, rare)} },
		"two wordings":   func() object { return object{"consents": consents(2, 520, rare)} },
		"three wordings": func() object { return object{"consents": consents(3, 330, rare)} },
		"sources": func() object {
			return object{"attribution": object{"source": wordsOf(0, 200), "campaign": wordsOf(0, 200)}, "message": wordsOf(5, 1700)}
		},
		"all attribution": func() object {
			return object{"attribution": object{"source": wordsOf(0, 200), "medium": wordsOf(0, 200), "campaign": wordsOf(0, 200), "term": wordsOf(0, 200), "content": wordsOf(0, 200)}}
		},
		"features": func() object {
			var features []any
			for range 50 {
				features = append(features, slug())
			}
			return object{"selections": object{"projectType": slug(), "features": features}}
		},
		"escapes": func() object { return object{"message": strings.Repeat("<", 1300)} },
	}

	for name, fields := range largest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apptest.Start(t, nil)
			const leads = 100
			size := func() int64 {
				s.Stop() // writes the log into the file
				info, err := os.Stat(filepath.Join(s.DataDir, systems.DatabaseFile))
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}

			before := size()
			s.Start()
			for i := range leads {
				if status, answer := s.Post("/api/quote/submit", with(fmt.Sprint(i), fields())); status != 200 {
					t.Fatalf("%d %v", status, answer)
				}
			}
			if took := (size() - before) / leads; took > 20<<10 {
				t.Errorf("a lead takes %d bytes", took)
			}
		})
	}
}

// Texts within the bounds of their fields are accepted, unless a request is longer than people
// write. Then it is refused with 413, and nothing is stored.
func TestLargestLead(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	latin := func(n int) string { return letters('a', 'z', 7, n) }
	rare := func(n int) string { return wordsOf(0, n) }

	for name, tt := range map[string]struct {
		fields   object
		accepted bool
	}{
		"Latin letters":         {object{"message": latin(2000), "consents": consents(3, 1000, latin)}, true},
		"Romanian letters":      {object{"message": strings.Repeat("Bună ziua și ", 153), "consents": consents(3, 800, latin)}, true},
		"Cyrillic letters":      {object{"message": letters('а', 'я', 7, 2000), "consents": consents(2, 500, latin)}, true},
		"Chinese letters":       {object{"message": letters('一', '龥', 0, 2000), "consents": consents(1, 500, latin)}, true},
		"emoji":                 {object{"message": strings.Repeat("😀", 2000)}, true},
		"names":                 {object{"firstName": wordsOf(0, 100), "lastName": wordsOf(0, 100), "company": wordsOf(0, 100), "message": latin(2000)}, true},
		"emoji everywhere":      {object{"message": strings.Repeat("😀", 2000), "consents": consents(3, 1000, rare)}, false},
		"three long wordings":   {object{"consents": consents(3, 1000, rare)}, false},
		"long names as well":    {object{"firstName": wordsOf(0, 100), "lastName": wordsOf(0, 100), "company": wordsOf(0, 100), "message": rare(2000)}, false},
		"a hint is cut instead": {object{"message": rare(1900), "attribution": object{"source": rare(200), "term": rare(200), "referrer": "https://a.example/" + slug()}}, true},
	} {
		apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
			before := s.StoredLeads()
			got := s.Through(endpoint, "submitQuote", object{"input": with(strings.ReplaceAll(name[:5], " ", "-")+endpoint, tt.fields)})
			if accepted := got.Code == ""; accepted != tt.accepted || !accepted && got.Code != "PAYLOAD_TOO_LARGE" {
				t.Errorf("%s: %s", name, got.Raw)
			}
			if stored := s.StoredLeads() - before; (stored == 1) != tt.accepted {
				t.Errorf("%s: %d leads are stored", name, stored)
			}
		})
	}
}
