package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// BenchmarkSearch measures the first page of listings and searches among 100,000 submissions. It
// reports how long making them all searchable took, as the first start of a new release does.
// The statement settle is what the database does by itself after a while.
func BenchmarkSearch(b *testing.B, s Subject, settle string) {
	fill(b, s, 100_000)
	began := time.Now()
	db := s.MustOpen(b, nil)
	b.Logf("made 100,000 submissions searchable in %v", time.Since(began).Round(time.Millisecond))
	s.Exec(b, settle)
	for name, f := range map[string]store.Filter{
		"all":             {},
		"later":           {After: &store.Position{SubmittedAt: When().Add(5000 * time.Second), ID: "id-005000"}},
		"locale":          {Locale: "es"},
		"every":           {Search: "e"},
		"common":          {Search: "ana"},
		"rare":            {Search: "pop4711"},
		"old":             {Search: "first"},
		"none":            {Search: "nobody"},
		"two common":      {Search: "ana pop1"},
		"two, never both": {Search: "ana ion"},
		"e-mail":          {Search: "client77777@example.com"},
		"reference":       {Search: "ID-05"},
	} {
		b.Run(name, func(b *testing.B) {
			f.Newest, f.Limit = true, 50
			found := 0
			for b.Loop() {
				found = 0
				for _, err := range db.Submissions(b.Context(), f) {
					if err != nil {
						b.Fatal(err)
					}
					if found++; found == f.Limit {
						break
					}
				}
			}
			b.ReportMetric(float64(found), "found")
		})
	}
}

// fill stores submissions past the store, without their search terms.
func fill(b *testing.B, s Subject, n int) {
	s.MustOpen(b, nil) // makes the tables
	names := []string{"Ana", "Ion", "Elena", "José", "Ștefan", "Maria", "Emma", "Eduard", "Erik", "Eva"}
	for from := 0; from < n; from += 1000 {
		var rows []string
		for i := from; i < from+1000; i++ {
			sub := Submission(i).Submission
			sub.Contact.FirstName, sub.Contact.LastName = names[i%len(names)], fmt.Sprint("Pop", i%20_000)
			sub.Contact.Email, sub.Locale = fmt.Sprintf("client%d@example.com", i), []string{"en", "ro"}[i%2]
			if i < 20 {
				sub.Contact.FirstName, sub.Locale = "First", "es"
			}
			body, err := json.Marshal(sub)
			if err != nil {
				b.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf("('%s', '%s', '%s', '%s', 'content-%d', %d, 0)", sub.ID, sub.SessionID, sub.Contact.Email,
				strings.ReplaceAll(string(body), "'", "''"), i, sub.SubmittedAt.UnixMilli()))
		}
		s.Exec(b, `INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at, held) VALUES `+strings.Join(rows, ", "))
	}
}
