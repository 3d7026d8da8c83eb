package schema

import "time"

// StartOfDay returns the first instant of the day of a time in a zone. Where the clock is
// put forward at midnight, that is 01:00.
func StartOfDay(day time.Time, zone *time.Location) time.Time {
	year, month, date := day.Date()
	at := time.Date(year, month, date, 12, 0, 0, 0, zone)
	for {
		_, offset := at.Zone()
		midnight := time.Date(year, month, date, 0, 0, 0, 0, time.FixedZone("", offset)).In(zone)
		begins, _ := at.ZoneBounds() // when the clock was changed to this offset
		if midnight.After(begins) {
			return midnight
		}
		if at = begins.Add(-1); at.Day() != date {
			return begins
		}
	}
}
