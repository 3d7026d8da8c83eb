package main

import (
	"context"
	"sync/atomic"
	"time"

	"siteapi/integrations/pdf"
	"siteapi/resolvers"
	"siteapi/schema"
)

const (
	// renderWait is how long a document waits for its turn to be drawn.
	renderWait = 2 * time.Second
	// renderQueue is how many documents may wait for each that can be drawn at a time: they
	// are drawn within some tenths of a second.
	renderQueue = 32
)

// boundedRenderer draws a few documents at a time, whatever door they are asked for at.
// A few more wait for their turn; what is beyond that, or waits too long, is refused, so
// that those who wait are served in time.
type boundedRenderer struct {
	resolvers.Renderer
	turns   chan struct{}
	waiting atomic.Int64
	wait    time.Duration
}

func newBoundedRenderer(r resolvers.Renderer, most int) *boundedRenderer {
	return &boundedRenderer{Renderer: r, turns: make(chan struct{}, most), wait: renderWait}
}

// Render draws a document when it is its turn.
func (b *boundedRenderer) Render(ctx context.Context, d pdf.Document) ([]byte, error) {
	select {
	case b.turns <- struct{}{}:
	default:
		if err := b.queue(ctx); err != nil {
			return nil, err
		}
	}
	defer func() { <-b.turns }()
	return b.Renderer.Render(ctx, d)
}

// queue waits for a turn.
func (b *boundedRenderer) queue(ctx context.Context) error {
	defer b.waiting.Add(-1)
	if b.waiting.Add(1) > int64(renderQueue*cap(b.turns)) {
		return busy()
	}
	patience := time.NewTimer(b.wait)
	defer patience.Stop()
	select {
	case b.turns <- struct{}{}:
		return nil
	case <-patience.C:
		return busy()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// busy is what a client is told where there is too much to do.
func busy() *schema.Error {
	return &schema.Error{
		Code: schema.CodeUpstreamUnavailable, Message: "The service is busy. Please try again.", RetryAfter: time.Second,
	}
}
