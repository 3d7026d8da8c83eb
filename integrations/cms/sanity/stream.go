package sanity

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// maxEvent bounds one event of the stream, in bytes.
const maxEvent = 1 << 20

// Reasons why a stream ended.
var (
	errEnded     = errors.New("the stream ended")
	errSilent    = errors.New("the stream is silent")
	errReconnect = errors.New("the CMS asked for a new connection")
	errAway      = errors.New("the CMS keeps no stream open")
)

// follow keeps a connection to the event stream until ctx ends.
func (w *watch) follow(ctx context.Context) {
	pause := w.pace.retry
	for {
		welcomed, err := w.stream(ctx)
		if ctx.Err() != nil {
			return
		}
		if welcomed {
			pause = w.pace.retry
		}

		wait := pause/2 + rand.N(pause) // so that instances and sites don't come all at once
		switch {
		case errors.Is(err, errReconnect):
			wait = w.pace.retry / 10
		case errors.Is(err, errAway):
			wait = w.pace.away
		case !welcomed:
			pause = min(2*pause, w.pace.patient)
		}
		if upstream.KindOf(err) == upstream.Rejected {
			w.position = "" // perhaps it was refused because of that
		}

		// A stream that is merely cut is expected back at once.
		lost := !welcomed || errors.Is(err, errAway) || errors.Is(err, errSilent)
		if lost && w.live.become(cms.WatchAsking, err.Error()) {
			w.log.Warn().Err(err).Msg("no event stream of the CMS, asking for changes at intervals")
			w.due()
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// stream makes one connection and handles its events until it ends. It returns whether the
// CMS welcomed it, and why it ended.
func (w *watch) stream(ctx context.Context) (welcomed bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(w.pace.silence, func() { stop(errSilent) })
	defer silence.Stop()

	request := upstream.Request{Op: "following events", Path: w.path("live/events"), Anonymous: true}
	if w.perspective == raw {
		request.Anonymous = false
		request.Query = url.Values{"includeDrafts": {"true"}}
	}
	if w.position != "" {
		request.Header = http.Header{"Last-Event-Id": {w.position}}
	}
	body, err := w.client.Stream(ctx, request, "text/event-stream")
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer func() { _ = body.Close() }()

	// Bytes of a stream that was not welcomed may come from a proxy.
	alive := &signs{body, func() {
		silence.Reset(w.pace.silence)
		if welcomed {
			w.live.heard()
		}
	}}
	for event, failure := range sse.Read(alive, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if failure != nil {
			return welcomed, causeOf(ctx, failure)
		}
		if event.Type == "welcome" {
			welcomed = true
		}
		if err := w.handle(event); err != nil {
			return welcomed, err
		}
	}
	return welcomed, causeOf(ctx, errEnded)
}

// handle handles an event. Its error ends the connection.
func (w *watch) handle(event sse.Event) error {
	resumed := w.position != ""
	if isHeaderValue(event.LastEventID) {
		w.position = event.LastEventID
		w.live.happened(event.LastEventID)
	}

	switch event.Type {
	case "welcome":
		if !resumed { // what happened before is not in the stream
			time.AfterFunc(w.pace.settle, w.due)
		}
		w.live.heard()
		if w.live.become(cms.WatchStream, "") {
			w.log.Info().Msg("following the event stream of the CMS")
		}
	case "", "message", "restart": // events before a restart are lost
		w.due()
	case "reconnect":
		return errReconnect
	case "goaway":
		return errAway
	}
	return nil
}

// isHeaderValue reports whether the id of an event can be sent back.
func isHeaderValue(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' })
}

// causeOf returns the reason why a connection's context was ended, or else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// signs reports each read that brings bytes.
type signs struct {
	io.Reader
	alive func()
}

// Read implements [io.Reader].
func (s *signs) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		s.alive()
	}
	return n, err
}
