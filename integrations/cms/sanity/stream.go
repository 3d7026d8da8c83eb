package sanity

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
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
		state, err := w.stream(ctx)
		if ctx.Err() != nil {
			return
		}

		// A stream that was there and is merely cut is expected back at once.
		lost := state != settled || errors.Is(err, errAway) || errors.Is(err, errSilent)
		if errors.Is(err, errReconnect) {
			lost = false
		}
		if lost && w.state.become(cms.WatchAsking, err.Error()) {
			w.log.Warn().Err(err).Msg("no event stream of the CMS, asking for changes at intervals")
		}
		if unusable(err) {
			w.position = ""
		}

		longest := w.pace.patient
		switch state {
		case settled:
			pause = w.pace.retry
		case welcomed:
			longest = w.pace.recheck
		}
		wait := pause/2 + rand.N(pause) // so that instances and sites don't come all at once
		pause = min(2*pause, longest)
		if errors.Is(err, errAway) {
			wait = w.pace.away
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// unusable reports whether a stream that ended like this would end like this again if it
// were resumed at the same position.
func unusable(err error) bool {
	return errors.Is(err, bufio.ErrTooLong) || upstream.KindOf(err) == upstream.Rejected
}

// progress is how far a connection came.
type progress int

const (
	failed   progress = iota // no stream was opened
	welcomed                 // the CMS has sent an event
	settled                  // it was there for a while
)

// stream makes one connection and handles its events until it ends. It returns how far it
// came, and why it ended.
func (w *watch) stream(ctx context.Context) (state progress, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(w.pace.silence, func() { stop(errSilent) })
	defer silence.Stop()

	request := upstream.Request{Op: "following events", Path: w.path("live/events"), Anonymous: true}
	if w.position != "" {
		request.Header = http.Header{"Last-Event-Id": {w.position}}
	}
	body, err := w.client.Stream(ctx, request, "text/event-stream")
	if err != nil {
		return failed, causeOf(ctx, err)
	}
	defer func() { _ = body.Close() }()

	// Bytes of a stream that was not welcomed may come from a proxy, and those of one that
	// is cut again and again say nothing about what it missed.
	began := time.Now()
	alive := &signs{body, func() {
		silence.Reset(w.pace.silence)
		if state == failed || time.Since(began) < w.pace.young {
			return
		}
		state = settled
		w.state.heard()
		if w.state.become(cms.WatchStream, "") {
			w.log.Info().Msg("following the event stream of the CMS")
		}
	}}
	for event, failure := range sse.Read(alive, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if failure != nil {
			return state, causeOf(ctx, failure)
		}
		state = max(state, welcomed)
		if err := w.handle(event); err != nil {
			return state, err
		}
	}
	return state, causeOf(ctx, errEnded)
}

// handle handles an event. Its error ends the connection.
func (w *watch) handle(event sse.Event) error {
	resumed := w.position != ""
	if isHeaderValue(event.LastEventID) {
		w.position = event.LastEventID
		w.known.happened(event.LastEventID)
	}

	switch event.Type {
	case "welcome":
		if !resumed {
			w.owe()
		}
	case "", "message":
		var data struct{ Tags []string }
		_ = json.Unmarshal([]byte(event.Data), &data) // without tags it may concern everything
		w.report(func(_ cms.Query, f fetched) bool { return meet(data.Tags, f.tags) })
	case "restart": // events before this one are lost
		w.changed(w.scope.Locales)
	case "reconnect":
		return errReconnect
	case "goaway":
		return errAway
	}
	return nil
}

// meet reports whether an event concerns an answer. If either has no tags, it may.
func meet(event, answer []string) bool {
	return len(event) == 0 || len(answer) == 0 ||
		slices.ContainsFunc(event, func(tag string) bool { return slices.Contains(answer, tag) })
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
