package httpserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"siteapi/schema"
)

// Most streams of events at a time.
const (
	maxStreams          = 1000
	maxStreamsOfSession = 50
)

// Streams are the streams of events that are open. Instead of the limits on requests in
// flight, they have limits of their own, and they end when the service stops.
type Streams struct {
	mu       sync.Mutex
	sessions map[string]int // open streams by session
	open     int
	refused  *prometheus.CounterVec

	running context.Context // ends when the service stops
	stop    context.CancelFunc
}

// NewStreams returns no streams yet.
func NewStreams(r prometheus.Registerer) *Streams {
	s := &Streams{sessions: map[string]int{}}
	s.running, s.stop = context.WithCancel(context.Background())

	factory := promauto.With(r)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "siteapi_event_streams",
		Help: "Open streams of events, such as those of pages of the inbox.",
	}, func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(s.open)
	})
	s.refused = factory.NewCounterVec(prometheus.CounterOpts{
		Name: "siteapi_event_streams_refused_total",
		Help: "Streams of events refused because too many were open: of their session, or of all.",
	}, []string{"limit"})
	for _, limit := range []string{"session", "all"} {
		s.refused.WithLabelValues(limit)
	}
	return s
}

// Begin turns a request into a stream, which is not counted among the requests in flight any
// more. The context ends with the request, or when the service stops. The caller calls end
// when nothing is written any more.
func (s *Streams) Begin(r *http.Request) (ctx context.Context, end func(), refused *schema.Error) {
	caller := schema.CallerFrom(r.Context())
	session := caller.Session
	if session == "" {
		session = clientKey(caller.Address) + " " + caller.Token()
	}

	if refused := s.enter(session); refused != nil {
		recordOf(r.Context()).limited = true
		return nil, nil, refused
	}
	recordOf(r.Context()).stream = true
	if body, ok := r.Body.(*limitedBody); ok {
		body.leaveAll()
	}

	ctx, cancel := context.WithCancel(r.Context())
	detach := context.AfterFunc(s.running, cancel)
	return ctx, func() {
		detach()
		cancel()
		s.leave(session)
	}, nil
}

// enter counts a stream of a session.
func (s *Streams) enter(session string) *schema.Error {
	s.mu.Lock()
	defer s.mu.Unlock()

	switch {
	case s.running.Err() != nil, s.open >= maxStreams:
		s.refused.WithLabelValues("all").Inc()
		return &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The service has no room for another stream of events at the moment.",
			RetryAfter: 5 * time.Second,
		}
	case s.sessions[session] >= maxStreamsOfSession:
		s.refused.WithLabelValues("session").Inc()
		return &schema.Error{
			Code:       schema.CodeRateLimited,
			Message:    "This session has too many streams of events.",
			RetryAfter: time.Minute,
		}
	}

	s.sessions[session]++
	s.open++
	return nil
}

func (s *Streams) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session]--; s.sessions[session] == 0 {
		delete(s.sessions, session)
	}
	s.open--
}
