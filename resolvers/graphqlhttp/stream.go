package graphqlhttp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
	"siteapi/schema/request"
)

const (
	// heartbeat is the interval at which a stream sends a comment, which keeps proxies
	// from closing it, and verifies its caller again.
	heartbeat = 2 * time.Second

	// writeTime is how long a client may take to receive an event.
	writeTime = 10 * time.Second
)

// stream sends the events of a subscription by the protocol "GraphQL over server-sent
// events", distinct connections mode. Errors before the first event are sent like those
// of other operations. There is no event "complete", since clients would not reconnect
// after it.
func (h *Handler) stream(x exchange, req *params, op *operation) error {
	if !x.events {
		return notAcceptable("The response to a subscription is " + typeEvents + ".")
	}
	ctx, end, refused := h.BeginStream(x.r)
	if refused != nil {
		return httpError{refused.Code.Status(), refused}
	}
	defer end()

	opCtx, ctx, err := h.admit(ctx, req, op)
	if err != nil {
		return err
	}
	if !oneStream(opCtx) {
		return schema.BadRequest("A subscription must have exactly one root field, after @skip and @include.")
	}

	next, ctx := h.Executor.DispatchOperation(ctx, opCtx)
	first := next(ctx)
	switch {
	case first == nil: // it ended without an event
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	case len(first.Data) == 0:
		x.refused(first.Errors)
		return nil
	}

	s := newStream(x.w)
	if s.send(newEvent(first)) == nil {
		s.follow(ctx, next)
	}
	return nil
}

// oneStream reports whether a subscription selects one field, as GraphQL requires.
// Validation cannot check that, since @skip and @include may depend on variables.
func oneStream(op *graphql.OperationContext) bool {
	fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})
	return len(fields) == 1 && fields[0].Name != "__typename"
}

// stream is a response that is written event by event.
type stream struct {
	http.ResponseWriter
	controller *http.ResponseController
}

func newStream(w http.ResponseWriter) stream {
	header := w.Header()
	header.Set("Content-Type", typeEvents)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // disables buffering in nginx

	s := stream{w, http.NewResponseController(w)}
	// This removes the server's read deadline, which other requests need. It fails only
	// in tests, which have no connection.
	_ = s.controller.SetReadDeadline(time.Time{})
	return s
}

// follow sends events until the subscription ends, the client disconnects or the caller
// is no longer authorized.
func (s stream) follow(ctx context.Context, next graphql.ResponseHandler) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	events := make(chan []byte)
	go func() {
		defer close(events)
		for response := next(ctx); response != nil; response = next(ctx) {
			select {
			case events <- newEvent(response):
			case <-ctx.Done():
				return
			}
		}
	}()

	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		text, more := []byte(":\n\n"), true
		select {
		case text, more = <-events:
		case <-beat.C:
			renew := request.CallerFrom(ctx).Renew
			more = renew == nil || renew(ctx) == nil
		}
		if !more {
			s.allowWriting() // The response still has to be ended.
			return
		}
		if s.send(text) != nil {
			return
		}
	}
}

// send writes and flushes a string. A client that does not read is disconnected.
func (s stream) send(text []byte) error {
	s.allowWriting()
	if _, err := s.Write(text); err != nil {
		return err
	}
	return s.controller.Flush()
}

// allowWriting extends the write deadline by writeTime.
func (s stream) allowWriting() {
	_ = s.controller.SetWriteDeadline(time.Now().Add(writeTime)) // fails in tests only
}

// newEvent returns an event with a copy of a response, whose memory the next response
// reuses.
func newEvent(response *graphql.Response) []byte {
	return fmt.Appendf(nil, "event: next\ndata: %s\n\n", encode(typeGraphQL, response, false))
}
