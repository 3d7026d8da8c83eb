package schema

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// The first instants are those of the IANA time zone database.
func TestStartOfDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, start string }{
		{"UTC", "2026-09-06", "2026-09-06T00:00:00Z"},
		{"Europe/Bucharest", "2026-03-29", "2026-03-29T00:00:00+02:00"}, // forward at 03:00
		{"Europe/Bucharest", "2026-10-25", "2026-10-25T00:00:00+03:00"},
		{"America/Santiago", "2026-09-05", "2026-09-05T00:00:00-04:00"},
		{"America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00"}, // forward at midnight
		{"America/Santiago", "2026-04-05", "2026-04-05T00:00:00-04:00"}, // back at midnight, to 23:00
		{"America/Santiago", "2026-04-04", "2026-04-04T00:00:00-03:00"}, // it has 25 hours
		{"Africa/Cairo", "2026-04-24", "2026-04-24T01:00:00+03:00"},     // forward at midnight
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"},   // back at 01:00, to midnight
		{"America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00"},   // forward at midnight
		{"Asia/Kathmandu", "2026-01-01", "2026-01-01T00:00:00+05:45"},
		{"Pacific/Apia", "2011-12-31", "2011-12-31T00:00:00+14:00"}, // after the day that was left out
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-05T00:00:00+11:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, _ := time.ParseInLocation(time.DateOnly, c.day, time.UTC)
		if got := StartOfDay(day, zone).Format(time.RFC3339); got != c.start {
			t.Errorf("%s begins in %s at %s, want %s", c.day, c.zone, got, c.start)
		}
	}
}
