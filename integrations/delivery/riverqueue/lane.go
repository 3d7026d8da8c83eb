package riverqueue

import (
	"cmp"
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"

	"siteapi/integrations/delivery"
)

// lane is everything this process knows about one target.
type lane struct {
	target      delivery.Target
	send        delivery.Send
	concurrency int
	limiter     *rate.Limiter
	circuit     circuit
}

func (c *core) newLane(target delivery.Target, send delivery.Send) *lane {
	limit := c.Limits[target]
	ln := &lane{
		target:      target,
		send:        send,
		concurrency: cmp.Or(limit.Concurrency, 4),
		limiter:     rate.NewLimiter(rate.Inf, 1),
		circuit: circuit{
			failuresMax: c.CircuitFailures,
			first:       c.Timing.CircuitFirst,
			max:         c.Timing.CircuitMax,
			refused:     c.Timing.RefusedPause,
		},
	}
	if limit.PerSecond > 0 {
		ln.limiter = rate.NewLimiter(rate.Limit(limit.PerSecond), max(1, int(limit.PerSecond/4)))
		// More tries at a time than the rate can feed would only wait with their time running.
		feedable := math.Floor(limit.PerSecond * c.Timing.RateWait.Seconds())
		ln.concurrency = max(1, min(ln.concurrency, int(feedable)))
	}
	return ln
}

// wait blocks until the target's rate allows another try.
func (l *lane) wait(ctx context.Context) error { return l.limiter.Wait(ctx) }

// shifted reports what became of a circuit.
func (c *core) shifted(ln *lane, now time.Time, s shift, reason string) {
	e := delivery.Event{Target: ln.target}
	switch s {
	case shiftOpened:
		e.Kind, e.Duration, e.Reason = delivery.CircuitOpened, ln.circuit.remaining(now), reason
		c.Log.Error().Str("target", string(ln.target)).Dur("for", e.Duration).Str("reason", reason).
			Msg("deliveries to this target are held")
	case shiftClosed:
		e.Kind, e.Duration = delivery.CircuitClosed, ln.circuit.openedFor(now)
		c.Log.Info().Str("target", string(ln.target)).Dur("after", e.Duration).
			Msg("deliveries to this target go on")
		c.pokeUpkeep()
	default:
		return
	}
	c.Observe(e)
}
