package lead

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func TestDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, at string
		after    int
		want     string
	}{
		{"UTC", "2026-11-28T22:30:00Z", 30, "2026-12-28"},
		{"Europe/Bucharest", "2026-11-28T21:59:59Z", 30, "2026-12-28"},
		{"Europe/Bucharest", "2026-11-28T22:30:00Z", 30, "2026-12-29"},   // 00:30 of the next day
		{"America/Santiago", "2026-08-07T04:30:00Z", 30, "2026-09-06"},   // 00:30, which that day has not
		{"America/Los_Angeles", "2026-03-01T07:00:00Z", 1, "2026-03-01"}, // still 28 February
		{"Asia/Tokyo", "2028-02-28T15:00:00Z", 0, "2028-02-29"},
		{"UTC", "2026-12-31T23:59:59Z", 1, "2027-01-01"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := Day(at.In(zone), c.after); got != c.want {
			t.Errorf("%d days after %s in %s: %s, want %s", c.after, c.at, c.zone, got, c.want)
		}
	}
}
