package main

import (
	"cmp"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/delivery/riverqueue"
)

// Bounds of DELIVERY_RETRY_MAX.
const (
	retryMaxLeast = time.Second
	retryMaxMost  = 24 * time.Hour
)

// circuitFailures is how many tries in a row fail before a target is left alone. Far
// ends that fail now and then, even three times out of four, must not be: each probe of
// an open circuit costs more time than the tries it saves.
const circuitFailures = 20

// deliveryTiming returns the pauses of the queue. What DELIVERY_RETRY_MAX says bounds
// every pause that the service chooses by itself; a target's own wish is honoured beyond
// it. Fields that are set already stay.
func deliveryTiming(s *config.Settings, t riverqueue.Timing) riverqueue.Timing {
	longest := s.DeliveryRetryMax
	t.BackoffFirst = cmp.Or(t.BackoffFirst, min(time.Second, longest))
	t.BackoffMax = cmp.Or(t.BackoffMax, longest)
	t.CircuitFirst = cmp.Or(t.CircuitFirst, min(5*time.Second, longest))
	t.CircuitMax = cmp.Or(t.CircuitMax, min(5*time.Minute, longest))
	t.RefusedPause = cmp.Or(t.RefusedPause, longest)
	t.OverdueAfter = cmp.Or(t.OverdueAfter, config.DeliveryOverdue)
	return t
}

// deliveryAttempts returns how often a delivery is tried before it counts as failed: so
// often that this takes nine days at least, but never more than 5,000 times, for the
// error of each try is kept with it.
func deliveryAttempts(longest time.Duration) int {
	const days, least, most = 9 * 24 * time.Hour, 300, 5000
	return min(max(least, int(days/max(longest, time.Second))), most)
}
