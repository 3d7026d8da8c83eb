package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// otlp is a collector of traces.
type otlp struct {
	mu    sync.Mutex
	spans []*pb.Span
	raw   []string // everything that came in, as text
}

// Export takes spans.
func (o *otlp) Export(
	_ context.Context, in *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.raw = append(o.raw, protojson.Format(in))
	for _, r := range in.ResourceSpans {
		for _, s := range r.ScopeSpans {
			o.spans = append(o.spans, s.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP takes spans as OTLP over HTTP.
func (o *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}

	out, _ := o.Export(r.Context(), &in)
	data, _ := proto.Marshal(out)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(data)
}

// named returns the spans of a name.
func (o *otlp) named(name string) (found []*pb.Span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// single returns the one span of a name.
func (o *otlp) single(t *testing.T, name string) *pb.Span {
	t.Helper()
	found := o.named(name)
	if len(found) != 1 {
		var all []string
		for _, s := range o.spans {
			all = append(all, s.Name)
		}
		t.Fatalf("%d spans %q among %q", len(found), name, all)
	}
	return found[0]
}

// attributeOf returns the value of an attribute as text.
func attributeOf(s *pb.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			if v := a.Value.GetStringValue(); v != "" {
				return v
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// listening proxies to an upstream and notes the traceparent of each request.
func listening(t *testing.T, to string, heard *sync.Map) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}

	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Store(r.Header.Get("Traceparent"), r.Method+" "+r.URL.Path)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
	traceparent = "Traceparent: 00-" + clientTrace + "-" + clientSpan + "-01"
)

// One lead, from the visitor's own span to both upstreams, is one trace without
// personal data.
func TestTraceOfALead(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"REST", "GraphQL"} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			o := &otlp{}
			receiver := httptest.NewServer(o)
			t.Cleanup(receiver.Close)

			stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
			var heard sync.Map
			s := apptest.Start(t, stubs.Env(map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL,
				"SANITY_API_URL":              listening(t, stubs.CMS.URL(), &heard),
				"HUBSPOT_API_URL":             listening(t, stubs.CRM.URL(), &heard),
			}), apptest.Quick)

			got := s.Through(endpoint, "submitQuote", object{"input": apptest.ValidLead("traced")},
				traceparent, "X-Request-Id: 0193a5c7-6b1e-7c3a-9f00-1234567890ab")
			id := got.Data["submissionId"].(string)
			apptest.Eventually(t, "the lead is delivered", func() bool {
				return s.Deliveries(id)["cms"].State == "delivered" &&
					s.Deliveries(id)["crm"].State == "delivered"
			})
			s.Stop() // sends the remaining spans

			request := map[string]string{
				"REST":    "POST /api/quote/submit",
				"GraphQL": "POST /graphql",
			}[endpoint]

			parents := []string{request, "mutation submitQuote"}
			under := clientSpan
			for _, name := range parents {
				span := o.single(t, name)
				if fmt.Sprintf("%x", span.ParentSpanId) != under ||
					fmt.Sprintf("%x", span.TraceId) != clientTrace {
					t.Errorf("%s is under %x of trace %x, want %s of %s",
						name, span.ParentSpanId, span.TraceId, under, clientTrace)
				}
				under = fmt.Sprintf("%x", span.SpanId)
			}

			root := o.single(t, request)
			for name, want := range map[string]string{
				"http.request.method":       "POST",
				"http.route":                strings.TrimPrefix(request, "POST "),
				"http.response.status_code": "200",
				"siteapi.request_id":        "0193a5c7-6b1e-7c3a-9f00-1234567890ab",
			} {
				if got := attributeOf(root, name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}

			for target, system := range map[string]string{"cms": "sanity", "crm": "hubspot"} {
				try := o.single(t, "deliver "+target)
				if fmt.Sprintf("%x", try.ParentSpanId) != under ||
					fmt.Sprintf("%x", try.TraceId) != clientTrace {
					t.Errorf("the try to deliver to %s is under %x, want the operation's %s",
						target, try.ParentSpanId, under)
				}

				calls := slices.DeleteFunc(
					slices.Concat(o.named("POST "+system), o.named("PATCH "+system)),
					func(s *pb.Span) bool { return string(s.ParentSpanId) != string(try.SpanId) })
				if len(calls) == 0 {
					t.Fatalf("the try to deliver to %s made no call", target)
				}

				if what := attributeOf(calls[0], "siteapi.operation"); what == "" ||
					attributeOf(calls[0], "http.response.status_code") == "" {
					t.Errorf("the call has %v", calls[0].Attributes)
				}
				if sent, ok := heard.Load(fmt.Sprintf("00-%s-%x-01", clientTrace, calls[0].SpanId)); !ok {
					t.Errorf("the upstream was not told of the call to %s: %v", system, sent)
				}
			}

			all := strings.Join(o.raw, "\n")
			for _, personal := range []string{
				"Ana", "Ionescu", "ana@example.com", "ana%40", "721 000", "Țară", id, "traced", "127.0.0.1:",
			} {
				if strings.Contains(all, personal) {
					t.Errorf("the spans hold %q", personal)
				}
			}

			wantTracedLog(s, t, "0193a5c7-6b1e-7c3a-9f00-1234567890ab", clientTrace, root.SpanId)
		})
	}
}

// wantTracedLog looks for the trace and the span in the lines of a request.
func wantTracedLog(s *apptest.Service, t *testing.T, requestID, traceID string, spanID []byte) {
	t.Helper()

	seen := map[string]bool{}
	for line := range strings.Lines(s.Log.String()) {
		var e struct {
			Message   string
			RequestID string `json:"request_id"`
			TraceID   string `json:"trace_id"`
			SpanID    string `json:"span_id"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.RequestID != requestID {
			continue
		}

		seen[e.Message] = true
		if e.TraceID != traceID || e.SpanID == "" ||
			e.Message == "request" && e.SpanID != fmt.Sprintf("%x", spanID) {
			t.Errorf("the line lacks its trace: %s", line)
		}
	}

	if !seen["request"] || !seen["quote submitted"] {
		t.Errorf("the lines of the request are %v", seen)
	}
}

// Without a collector no spans are made.
func TestTracesOff(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"not set":  nil,
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "True"},
	} {
		s := apptest.Start(t, env, apptest.Quick)

		got := s.Through("REST", "submitQuote", object{"input": apptest.ValidLead("off")}, traceparent)
		stored, err := s.App.Data.Quotes.Lead(t.Context(), got.Data["submissionId"].(string))
		if err != nil || stored.Trace != "" {
			t.Errorf("%s: stored with the trace %q, %v", name, stored.Trace, err)
		}

		if strings.Contains(s.Log.String(), "trace_id") {
			t.Errorf("%s: the log names a trace", name)
		}
	}
}
