package main

import (
	"context"
	"time"

	"siteapi/integrations/pdf"
	"siteapi/resolvers"
	"siteapi/schema"
)

// renderWait is how long a document waits for its turn to be drawn.
const renderWait = 2 * time.Second

// boundedRenderer draws a few documents at a time, whichever endpoint asks for them. What
// waits too long for its turn is refused.
type boundedRenderer struct {
	resolvers.Renderer
	turns chan struct{}
}

// Render draws a document when it is its turn.
func (b *boundedRenderer) Render(ctx context.Context, d pdf.Document) ([]byte, error) {
	patience := time.NewTimer(renderWait)
	defer patience.Stop()
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
		return b.Renderer.Render(ctx, d)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, &schema.Error{
			Code: schema.CodeUpstreamUnavailable, Message: "The service is busy. Please try again.", RetryAfter: time.Second,
		}
	}
}
