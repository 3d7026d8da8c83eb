package riverqueue

import "time"

// backoff is the pause after the attempt-th failed try: doubled with each try up to
// Timing.BackoffMax, with a fifth of jitter either way so that deliveries which failed
// together don't come back together.
func (c *core) backoff(attempt int) time.Duration {
	pause := c.Timing.BackoffFirst
	for n := 1; n < attempt && pause < c.Timing.BackoffMax; n++ {
		pause *= 2
	}
	return c.jitter(min(pause, c.Timing.BackoffMax))
}

// jitter varies a duration by a fifth either way.
func (c *core) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*c.Rand()))
}
