package sanity

import "time"

// Hurry makes a watch a hundred times as fast, so that a test need not wait for minutes.
func (d *Driver) Hurry() {
	for _, pause := range []*time.Duration{
		&d.pace.check, &d.pace.recheck, &d.pace.settle, &d.pace.silence,
		&d.pace.retry, &d.pace.patient, &d.pace.away, &d.pace.drafts,
	} {
		*pause /= 100
	}
}
