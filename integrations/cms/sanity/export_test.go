package sanity

import "time"

// SpeedUp makes a watch a hundred times as fast, so tests do not wait for minutes.
func (d *Driver) SpeedUp() {
	for _, pause := range []*time.Duration{
		&d.pace.poll, &d.pace.pollDrafts, &d.pace.pollMin, &d.pace.pollRetry, &d.pace.settle,
		&d.pace.idle, &d.pace.reconnect, &d.pace.reconnectSlow,
	} {
		*pause /= 100
	}
}
