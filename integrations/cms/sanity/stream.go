package sanity

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/tmaxmax/go-sse"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// maxEvent bounds one event of the stream, in bytes.
const maxEvent = 1 << 20

// follow keeps a connection to the event stream until ctx ends.
func (w *watch) follow(ctx context.Context) {
	for {
		works, err := w.stream(ctx)
		if ctx.Err() != nil {
			return
		}

		wait := w.pace.retry // a stream that is merely cut is expected back at once
		if !works {
			wait = w.pace.patient
			if w.live.become(cms.WatchAsking, err.Error()) {
				w.log.Warn().Err(err).Msg("no event stream of the CMS, asking for changes at intervals")
				w.due()
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)): // so that instances and sites don't come all at once
		}
	}
}

// stream makes one connection and handles its events until it ends. It returns why it ended,
// and whether it worked until then.
func (w *watch) stream(ctx context.Context) (works bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := time.AfterFunc(w.pace.silence, func() { stop(errors.New("the stream is silent")) })
	defer silence.Stop()

	request := upstream.Request{Op: "following events", Path: w.path("live/events"), Anonymous: true}
	if w.perspective == raw {
		request.Anonymous = false
		request.Query = url.Values{"includeDrafts": {"true"}}
	}
	body, err := w.client.Stream(ctx, request, "text/event-stream")
	if err != nil {
		return false, cmp.Or(context.Cause(ctx), err)
	}
	defer func() { _ = body.Close() }()

	alive := &signs{body, func() { silence.Reset(w.pace.silence) }}
	for event, err := range sse.Read(alive, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return works && ctx.Err() == nil, cmp.Or(context.Cause(ctx), err)
		}
		if event.LastEventID != "" {
			w.live.happened(event.LastEventID)
		}

		switch event.Type {
		case "welcome":
			works = true
			if w.live.become(cms.WatchStream, "") {
				w.log.Info().Msg("following the event stream of the CMS")
			}
			// What happened before is not in the stream.
			w.due()
			time.AfterFunc(w.pace.settle, w.due)
		case "reconnect", "goaway":
			return event.Type == "reconnect", errors.New("the CMS ended the stream with " + event.Type)
		default:
			w.due()
		}
	}
	return works, errors.New("the stream ended")
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
