package commands

import (
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// A day in a flag is a day of TIME_ZONE, as the tables print them, and --until includes its
// day. A time is exact.
func TestDays(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "TIME_ZONE=Europe/Bucharest", "TRACK_RETENTION=0s")
	var leads []lead.Lead
	var visits []lead.Visit
	for id, at := range map[string]string{
		"a": "2026-11-26T21:59:59Z", // the last second of 26 November
		"b": "2026-11-26T22:00:00Z", // the first of the 27th
		"c": "2026-11-27T21:59:59Z", // its last
		"d": "2026-11-27T22:00:00Z", // the first of the 28th
		"e": "2026-03-28T22:00:00Z", // the first of 29 March, which has 23 hours
		"f": "2026-03-29T20:59:59Z", // its last
		"g": "2026-03-29T21:00:00Z", // the first of 30 March
	} {
		submitted, err := time.Parse(time.RFC3339, at)
		must(t, err)
		l := oddLead()
		l.ID, l.SessionID, l.SubmittedAt, l.InReview = strings.Repeat(id, 12), id, submitted, false
		leads = append(leads, l)
		visits = append(visits, lead.Visit{SessionID: id, At: submitted})
	}
	s.Store(visits, leads...)

	for _, tt := range []struct{ why, flags, want string }{
		{"a day begins at midnight", "--since 2026-11-27", "bcd"},
		{"a day ends at midnight", "--until 2026-11-27", "abcefg"},
		{"one day", "--since 2026-11-27 --until 2026-11-27", "bc"},
		{"two days", "--since 2026-11-26 --until 2026-11-27", "abc"},
		{"a day of 23 hours", "--since 2026-03-29 --until 2026-03-29", "ef"},
		{"a day without leads", "--since 2026-11-25 --until 2026-11-25", ""},
		{"a time with the offset of the zone", "--since 2026-11-27T00:00:00+02:00", "bcd"},
		{"a time is not included in the end", "--until 2026-11-26T22:00:00Z", "aefg"},
		{"a time and a day", "--since 2026-11-27T21:59:59Z --until 2026-11-27", "c"},
		{"blanks around a day", "--since=\u00a02026-11-28\t", "d"},
	} {
		args := strings.FieldsFunc("leads list --json "+tt.flags, func(r rune) bool { return r == ' ' })
		out, code := s.Run(args...)
		got := ""
		for _, letter := range "abcdefg" {
			if strings.Contains(out, strings.Repeat(string(letter), 12)) {
				got += string(letter)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s found %q, want %q (exit code %d)\n%s", tt.why, tt.flags, got, tt.want, code, out)
		}
	}

	s.Prints("leads list --until 2026-03-29", "2026-03-29 23:59:59", "2026-03-29 00:00:00").Without("2026-03-28")
	s.Prints("leads list --csv --until 2026-03-29", "2026-03-29T23:59:59+03:00", "2026-03-29T00:00:00+02:00").Without("Z")
	s.Prints("leads export --until 2026-03-29", "2026-03-29T00:00:00.000+02:00", "2026-03-29T23:59:59.000+03:00").Without("000Z")
	s.Prints("leads export --since 2026-11-27 --until 2026-11-27", "bbbbbbbbbbbb", "cccccccccccc").Without("aaaaaaaaaaaa", "dddddddddddd")
	s.Prints("funnel --since 2026-11-27 --until 2026-11-27", "VISITED    2")
	s.Prints("deliveries verify --since 2026-11-27", "leads                      3")
	s.Prints("leads list --help", "2026-01-31 (included)")
	s.Refuses(map[string]string{
		"leads list --since 2026-02-30":                              `"--since" flag: must be a duration`,
		"audit list --since 2026-11-29 --until 2026-11-27":           "--since: must not be greater than until",
		"funnel --since 2026-11-28 --until 2026-11-27":               "--since: must not be greater than until",
		"leads list --since 2026-11-26T22:00:00Z --until 2026-11-26": "--since: must not be greater than until",
		"leads report --since 2026-11-28 --until 2026-11-27":         "--since: must not be greater than until",
	})
}
