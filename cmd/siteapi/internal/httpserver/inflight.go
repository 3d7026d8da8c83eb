package httpserver

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/ratelimit"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Counters of requests in flight. Each client also has one for its requests, named by its
// address or network, and one for its streams.
const (
	countAll      = "all"
	countDatabase = "database" // operations that need the database
	countSignIn   = "sign-in"  // requests that wait for the OpenID Connect provider
	countStreams  = "streams"  // subscriptions, which the counters above do not include
)

// Limits of requests in flight, in addition to MAX_REQUESTS.
const (
	maxSignIn   = 16
	maxStreams  = 1000
	maxOfClient = 64
)

// A request with a body of more than largeBody bytes, or of unknown length, counts as
// largeWeight requests, since decoding takes ten times the size of the body in memory.
// Quote routes reject larger bodies.
const (
	largeBody   = 64 << 10
	largeWeight = 16
)

// InFlight limits concurrent requests. At most half of them may use the database, and 16
// may wait for the OpenID Connect provider, so other requests succeed while these systems
// hang.
type InFlight struct {
	most map[string]int // limits by counter, except those of clients
	shed *prometheus.CounterVec

	mu     sync.Mutex
	counts map[string]int

	running context.Context // canceled when the service stops, which ends streams
	stop    context.CancelFunc
}

// NewInFlight returns the limits of a service.
func NewInFlight(s *config.Settings, r prometheus.Registerer) *InFlight {
	f := &InFlight{
		counts: map[string]int{},
		most: map[string]int{
			countAll:      s.MaxRequests,
			countDatabase: max(1, s.MaxRequests/2),
			countSignIn:   maxSignIn,
			countStreams:  maxStreams,
		},
	}
	f.running, f.stop = context.WithCancel(context.Background())

	factory := promauto.With(r)
	f.shed = factory.NewCounterVec(prometheus.CounterOpts{
		Name: "siteapi_http_requests_shed_total",
		Help: "Requests refused by a concurrency limit.",
	}, []string{"class"})
	for class := range f.most {
		f.shed.WithLabelValues(class)
		factory.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "siteapi_http_requests_under_way",
			Help: "Requests in flight: all but event streams, those that need the database, " +
				"those that wait for the identity provider, and event streams.",
			ConstLabels: prometheus.Labels{"class": class},
		}, func() float64 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return float64(f.counts[class])
		})
	}
	return f
}

// enter counts a request until leave, or returns an error if the limit is reached.
func (f *InFlight) enter(rec *record, counter string, weight int) *schema.Error {
	most, shared := f.most[counter]
	if !shared {
		most = maxOfClient
	}
	weight = min(weight, most)

	f.mu.Lock()
	fits := f.counts[counter]+weight <= most
	if fits {
		f.counts[counter] += weight
		rec.counted[counter] = weight
	}
	f.mu.Unlock()

	if fits {
		return nil
	}
	rec.limited = true
	if !shared {
		return &schema.Error{
			Code:       schema.CodeRateLimited,
			Message:    "There are too many concurrent requests from this address.",
			RetryAfter: time.Second,
		}
	}

	f.shed.WithLabelValues(counter).Inc()
	return &schema.Error{
		Code:       schema.CodeUpstreamUnavailable,
		Message:    "The service is busy. Please try again.",
		RetryAfter: time.Second,
	}
}

// leave removes a request from counters.
func (f *InFlight) leave(rec *record, counters ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, counter := range counters {
		if f.counts[counter] -= rec.counted[counter]; f.counts[counter] == 0 {
			delete(f.counts, counter)
		}
		delete(rec.counted, counter)
	}
}

// leaveAll removes a request from all counters.
func (f *InFlight) leaveAll(rec *record) { f.leave(rec, slices.Collect(maps.Keys(rec.counted))...) }

// EnterDatabase counts a request that needs the database.
func (f *InFlight) EnterDatabase(ctx context.Context) *schema.Error {
	return f.enterOnce(ctx, countDatabase)
}

// EnterSignIn counts a request that waits for the OpenID Connect provider.
func (f *InFlight) EnterSignIn(ctx context.Context) *schema.Error {
	return f.enterOnce(ctx, countSignIn)
}

// EnterGrant counts a request of an assistant, whose grant the caller has as its address.
func (f *InFlight) EnterGrant(ctx context.Context) *schema.Error {
	return f.enterOnce(ctx, request.CallerFrom(ctx).Address)
}

// LeaveSignIn removes a request from the counter of [InFlight.EnterSignIn], although the
// request continues: a stream enters the counter for each check of its login.
func (f *InFlight) LeaveSignIn(ctx context.Context) {
	f.leave(recordOf(ctx), countSignIn)
}

func (f *InFlight) enterOnce(ctx context.Context, counter string) *schema.Error {
	rec, ok := ctx.Value(recordKey{}).(*record)
	if !ok || rec.counted[counter] > 0 { // Without a record the operation does not come from a request.
		return nil
	}
	return f.enter(rec, counter, 1)
}

// BeginStream moves a request from its counters to those of streams. The context ends
// with the request or when the service stops. The caller must call end after the last
// write.
func (f *InFlight) BeginStream(r *http.Request) (ctx context.Context, end func(), refused *schema.Error) {
	rec := recordOf(r.Context())
	streams := []string{countStreams}
	for counter := range rec.counted {
		if f.most[counter] == 0 {
			streams = append(streams, "streams of "+counter)
		}
	}
	f.leaveAll(rec)
	if f.running.Err() != nil {
		return nil, nil, &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The service is stopping.",
			RetryAfter: time.Second,
		}
	}
	for _, counter := range streams {
		if refused := f.enter(rec, counter, 1); refused != nil {
			return nil, nil, refused
		}
	}

	rec.stream = true
	ctx, cancel := context.WithCancel(r.Context())
	detach := context.AfterFunc(f.running, cancel)
	return ctx, func() {
		detach()
		cancel()
	}, nil
}

// admit answers preflight requests. It refuses a request above the rate limit of its
// client, the concurrency limit of its client or the concurrency limit of the service,
// and a preview without a token.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recordOf(r.Context())
		if isProbe(r) {
			rec.routine = true
			next.ServeHTTP(w, r)
			return
		}

		defer s.InFlight.leaveAll(rec)
		refused := s.limit(r, rec)
		if refused != nil && r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // The server does not read the body.
		}
		if refused == nil && isPreflight(r, w.Header()) {
			rec.routine = true
			allowMethods(w.Header(), r.Header)
			w.WriteHeader(http.StatusNoContent)
			return
		}

		if refused == nil && r.Header[headerPreview] != nil {
			r, refused = s.preview(r, rec)
		}
		if refused != nil {
			s.writeError(w, r, refused)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limit counts a request, or returns the error of the exceeded limit. It does not count an
// image or a frame in a page of another site, which would use up the attempts to sign in.
func (s *Server) limit(r *http.Request, rec *record) *schema.Error {
	weight := 1
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		weight = largeWeight
	}

	if s.RateLimits != nil {
		if dest := r.Header.Get("Sec-Fetch-Dest"); inbox.SignsIn(r) && dest != "" && dest != "document" {
			return schema.NewError(schema.CodeForbidden, "Only a person who opens this address signs in.")
		}
		if r.Pattern != inbox.ResourcePath { // EnterGrant counts these
			client := ratelimit.Networks(request.CallerFrom(r.Context()).Address)[0].Name
			if refused := s.InFlight.enter(rec, client, weight); refused != nil {
				return refused
			}
		}
		if refused := s.RateLimits.check(r); refused != nil {
			return refused
		}
	}
	return s.InFlight.enter(rec, countAll, weight)
}
