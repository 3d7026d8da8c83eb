package http

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"siteapi/cmd/siteapi/internal/apptest"
)

// otlp is a collector of traces.
type otlp struct {
	mu    sync.Mutex
	spans []*pb.Span
	raw   string // all received spans, as text
}

// ServeHTTP receives spans as OTLP over HTTP.
func (o *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
		http.Error(w, "not OTLP", 400)
		return
	}

	o.mu.Lock()
	defer o.mu.Unlock()
	o.raw += protojson.Format(&in)
	for _, r := range in.ResourceSpans {
		for _, s := range r.ScopeSpans {
			o.spans = append(o.spans, s.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// child returns the only span of a name below a parent in the client's trace. The name may
// include the operation, such as "GET hubspot: storing the contact".
func (o *otlp) child(t *testing.T, parent, name string) *pb.Span {
	t.Helper()
	var found []*pb.Span
	for _, s := range o.spans {
		if op := attributeOf(s, "siteapi.operation"); (s.Name == name || s.Name+": "+op == name) && fmt.Sprintf("%x", s.ParentSpanId) == parent && fmt.Sprintf("%x", s.TraceId) == clientTrace {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans named %s below %s, want 1", len(found), name, parent)
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

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
	traceparent = "Traceparent: 00-" + clientTrace + "-" + clientSpan + "-01"
)

// A lead is one trace, from the visitor's own span to both upstreams, without personal
// data.
func TestTraceOfALead(t *testing.T) {
	t.Parallel()
	o := &otlp{}
	receiver := httptest.NewServer(o)
	t.Cleanup(receiver.Close)
	stubs := apptest.NewVendors(t)
	s := apptest.Start(t, stubs.Env("OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL, apptest.Quick)...)

	const requestID = "0193a5c7-6b1e-7c3a-9f00-1234567890ab"
	got := s.SubmitThrough("REST", apptest.ValidLead("traced"),
		traceparent, "X-Request-Id: "+requestID)
	id := got.ID()
	apptest.Eventually(t, "the lead is delivered", func() bool {
		return s.Deliveries(id)["cms"].State == "delivered" && s.Deliveries(id)["crm"].State == "delivered"
	})
	s.Stop() // sends the remaining spans

	request := o.child(t, clientSpan, "POST /api/quote/submit")
	for name, want := range map[string]string{
		"http.request.method":       "POST",
		"http.route":                "/api/quote/submit",
		"http.response.status_code": "200",
		"siteapi.request_id":        requestID,
	} {
		if got := attributeOf(request, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	operation := o.child(t, fmt.Sprintf("%x", request.SpanId), "mutation submitQuote")
	for target, call := range map[string]string{
		"cms": "POST sanity",
		"crm": "GET hubspot: storing the contact",
	} {
		attempt := o.child(t, fmt.Sprintf("%x", operation.SpanId), "deliver "+target)
		span := o.child(t, fmt.Sprintf("%x", attempt.SpanId), call)
		if attributeOf(span, "siteapi.operation") == "" || attributeOf(span, "http.response.status_code") == "" {
			t.Errorf("the span of the call has the attributes %v", span.Attributes)
		}
	}

	for _, personal := range []string{
		"Ana", "Ionescu", "ana@example.com", "ana%40", "721 000", "Țară", id, "traced", "127.0.0.1:",
	} {
		if strings.Contains(o.raw, personal) {
			t.Errorf("the spans contain %q", personal)
		}
	}

	traced := fmt.Sprintf(`"request_id":"%s","trace_id":"%s","span_id":"%x"`, requestID, clientTrace, request.SpanId)
	if !s.Log.Has(traced) {
		t.Errorf("no log line has %s:\n%s", traced, s.Log.String())
	}
}
