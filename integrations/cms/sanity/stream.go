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

// follow keeps a connection to the event stream until ctx is done.
func (w *watch) follow(ctx context.Context) {
	for {
		worked, err := w.stream(ctx)
		if ctx.Err() != nil {
			return
		}

		wait := reconnect // an interrupted stream is expected to resume at once
		if !worked {
			wait = reconnectSlow
			if w.live.setMode(cms.WatchAsking, err.Error()) {
				w.Log.Warn().Err(err).Msg("cannot follow the CMS event stream, polling for changes instead")
				w.requestPoll()
			}
		}

		select {
		case <-ctx.Done():
			return
		// A random part avoids simultaneous reconnects of all instances and sites.
		case <-time.After((wait/2 + rand.N(wait)) / w.haste):
		}
	}
}

// stream opens one connection and handles its events until it ends. It reports whether
// the stream worked until then, and returns the reason for its end.
func (w *watch) stream(ctx context.Context) (worked bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idle := time.AfterFunc(idleTime/w.haste, func() { stop(errors.New("the stream sent no data in time")) })
	defer idle.Stop()

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

	monitored := &activityReader{body, func() { idle.Reset(idleTime / w.haste) }}
	for event, err := range sse.Read(monitored, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return worked && ctx.Err() == nil, cmp.Or(context.Cause(ctx), err)
		}
		if event.LastEventID != "" {
			w.live.recordEvent(event.LastEventID)
		}

		switch event.Type {
		case "welcome":
			worked = true
			if w.live.setMode(cms.WatchStream, "") {
				w.Log.Info().Msg("following the CMS event stream")
			}
			// The stream does not include earlier changes.
			w.requestPoll()
			time.AfterFunc(settle/w.haste, w.requestPoll)
		case "reconnect", "goaway":
			return event.Type == "reconnect", errors.New("the CMS ended the stream: " + event.Type)
		default:
			w.requestPoll()
		}
	}
	return worked, errors.New("the stream ended")
}

// activityReader calls active after each read that returns data.
type activityReader struct {
	io.Reader
	active func()
}

// Read implements [io.Reader].
func (r *activityReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.active()
	}
	return n, err
}
