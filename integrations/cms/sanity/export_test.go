package sanity

import "time"

// Hurry makes a watch a hundred times as fast, so that a test need not wait for minutes.
func (d *Driver) Hurry() {
	for _, pause := range []*time.Duration{
		&d.pace.asking, &d.pace.drafts, &d.pace.least, &d.pace.again, &d.pace.settle,
		&d.pace.silence, &d.pace.retry, &d.pace.patient,
	} {
		*pause /= 100
	}
}
