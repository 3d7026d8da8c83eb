package limits

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
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
func rare(n int) string          { return wordsOf(0, n) }
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

// attribution returns an attribution with these fields, as long as they may be.
func attribution(names ...string) object {
	fields := object{}
	for _, name := range names {
		fields[name] = rare(200)
	}
	return fields
}

// everything returns all strings of a lead, as long as they may be.
func everything() object {
	return object{
		"firstName":   rare(100),
		"lastName":    rare(100),
		"company":     rare(100),
		"message":     rare(2000),
		"consents":    consents(3, 1000, rare),
		"attribution": attribution("source", "medium", "campaign", "term", "content"),
	}
}

// A lead takes at most 20 KB on disk for each lead as which it counts in the hourly limit,
// whatever its strings are.
func TestSizeOfALead(t *testing.T) {
	t.Parallel()
	largest := map[string]func() object{
		"one word":   func() object { return object{"message": rare(2000)} },
		"many words": func() object { return object{"message": wordsOf(5, 2000)} },
		"many names": func() object {
			return object{"firstName": wordsOf(3, 99), "lastName": wordsOf(3, 99), "company": wordsOf(3, 99), "message": wordsOf(4, 1700)}
		},
		"one wording":    func() object { return object{"consents": consents(1, 1000, rare)} },
		"two wordings":   func() object { return object{"consents": consents(2, 520, rare)} },
		"three wordings": func() object { return object{"consents": consents(3, 330, rare)} },
		"sources": func() object {
			return object{"attribution": attribution("source", "campaign"), "message": wordsOf(5, 1700)}
		},
		"all attribution": func() object {
			return object{"attribution": attribution("source", "medium", "campaign", "term", "content")}
		},
		"features": func() object {
			var features []any
			for range 50 {
				features = append(features, slug())
			}
			return object{"selections": object{"projectType": slug(), "features": features}}
		},
		"three long wordings": func() object { return object{"consents": consents(3, 1000, rare)} },
		"everything":          everything,
		"escapes":             func() object { return object{"message": strings.Repeat("<", 1300)} },
	}

	// As how many leads the largest count.
	counts := map[string]int64{"sources": 2, "three long wordings": 2, "everything": 4}

	for name, fields := range largest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apptest.Start(t)
			const leads = 100
			// The pages count, since their file may be written only later.
			size := func() (bytes int64) {
				s.Stop()
				db, err := sql.Open("sqlite", filepath.Join(s.DataDir, systems.DatabaseFile)+"?_pragma=busy_timeout(30000)")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				if err := db.QueryRowContext(t.Context(),
					"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&bytes); err != nil {
					t.Fatal(err)
				}
				return bytes
			}

			before := size()
			s.Start()
			for i := range leads {
				lead := with(fmt.Sprint(i), fields())
				// On a busy machine a try may end with 503, and is repeated like a visitor's.
				apptest.Eventually(t, "the lead is accepted", func() bool {
					status, response := s.Post("/api/quote/submit", lead)
					if status != 200 && status != 503 {
						t.Fatalf("%d %v", status, response)
					}
					return status == 200
				})
			}
			counted := max(1, counts[name])
			if took := (size() - before) / leads; took > counted*20<<10 {
				t.Errorf("a lead that counts as %d takes %d bytes", counted, took)
			}
		})
	}
}

// Texts within the bounds of their fields are accepted, however long they are together.
func TestLargestLead(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	latin := func(n int) string { return letters('a', 'z', 7, n) }

	for name, fields := range map[string]object{
		"Latin letters":    {"message": latin(2000), "consents": consents(3, 1000, latin)},
		"Romanian letters": {"message": strings.Repeat("Bună ziua și ", 153), "consents": consents(3, 800, latin)},
		"Cyrillic letters": {"message": letters('а', 'я', 7, 2000), "consents": consents(3, 1000, latin)},
		"Chinese letters":  {"message": letters('一', '龥', 0, 2000), "consents": consents(3, 1000, latin)},
		"emoji":            {"message": strings.Repeat("😀", 2000), "consents": consents(3, 1000, rare)},
		"all fields":       everything(),
	} {
		for _, endpoint := range apptest.Endpoints {
			before := s.StoredLeads()
			session := strings.ReplaceAll(name[:4], " ", "-") + endpoint
			got := s.SubmitThrough(endpoint, with(session, fields))
			if got.Code != "" || s.StoredLeads() != before+1 {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}
