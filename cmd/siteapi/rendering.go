package main

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/pdf"
	"siteapi/resolvers"
)

// renderWait is how long a document waits for its turn to be drawn.
const renderWait = 2 * time.Second

// boundedRenderer draws a few documents at a time, whatever door they are asked for at.
// One that has waited too long for its turn is given up, so that no queue builds up.
type boundedRenderer struct {
	resolvers.Renderer
	turns chan struct{}
	wait  time.Duration
}

func newBoundedRenderer(r resolvers.Renderer, most int) *boundedRenderer {
	return &boundedRenderer{Renderer: r, turns: make(chan struct{}, most), wait: renderWait}
}

// Render draws a document when it is its turn.
func (b *boundedRenderer) Render(ctx context.Context, d pdf.Document) ([]byte, error) {
	select {
	case b.turns <- struct{}{}:
	default:
		limited, cancel := context.WithTimeout(ctx, b.wait)
		defer cancel()
		select {
		case b.turns <- struct{}{}:
		case <-limited.Done():
			return nil, fmt.Errorf("waiting to draw a document: %w", limited.Err())
		}
	}
	defer func() { <-b.turns }()
	return b.Renderer.Render(ctx, d)
}
