package lead

import "time"

// Day returns a day in the zone of a time, a number of days after it, as 2026-01-31.
func Day(at time.Time, after int) string {
	year, month, day := at.Date()
	return time.Date(year, month, day+after, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
