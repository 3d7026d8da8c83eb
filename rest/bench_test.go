package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/schema"
)

// benchBody is a typical tracking call.
const benchBody = `{"sessionId":"4f1c2a88-0b7e-4f3c-9d51-8a3d5c1e7b90","selections":{"projectType":"web-app",` +
	`"features":["auth","payments","search","admin-panel"],"complexity":"medium","timeline":"3-months"},` +
	`"estimate":{"min":12000,"max":18000,"currency":"EUR"},"formData":{"email":"ana@example.com","firstName":"Ana"}}`

// BenchmarkRestVsBare sends POST /api/quote/track through the adapter, a gqlgen executor
// and a resolver that stores nothing, and in turn to a bare handler that decodes and
// encodes the same JSON, both over real servers. It reports the median of the ratios:
// 1 would be as fast as the bare handler.
func BenchmarkRestVsBare(b *testing.B) {
	a, s := newAPI(b)
	s.quiet = true
	routed, plain := newLoad(b, a), newLoad(b, http.HandlerFunc(bare))
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, plain.run(b).Seconds()/routed.run(b).Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

func bare(w http.ResponseWriter, r *http.Request) {
	var in schema.TrackQuoteInput
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 65536)).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(schema.TrackQuotePayload{Success: true, SessionID: in.SessionID})
}

// load is 32 connections to a server, with a client that costs next to nothing.
type load struct {
	conns   []net.Conn
	request []byte
}

func newLoad(b *testing.B, h http.Handler) *load {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	l := &load{request: fmt.Appendf(nil, "POST /api/quote/track HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: */*\r\nUser-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", len(benchBody), benchBody)}
	for range 32 {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		l.conns = append(l.conns, conn)
	}
	return l
}

// run sends 200 requests over each connection and returns the time it took.
func (l *load) run(b *testing.B) time.Duration {
	var all sync.WaitGroup
	began := time.Now()
	for _, conn := range l.conns {
		all.Go(func() {
			in := bufio.NewReader(conn)
			for range 200 {
				if _, err := conn.Write(l.request); err != nil {
					b.Error(err)
					return
				}
				if err := readAnswer(in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

func readAnswer(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.Contains(status, []byte(" 200 ")) {
		return fmt.Errorf("the answer is %s", status)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			for _, c := range bytes.TrimSpace(rest) {
				length = length*10 + int(c-'0')
			}
		}
	}
	_, err = in.Discard(length)
	return err
}

// BenchmarkAdapter measures ServeHTTP alone, without a server around it.
func BenchmarkAdapter(b *testing.B) {
	a, s := newAPI(b)
	s.quiet = true
	benchHandler(b, a)
}

// BenchmarkBareAlone is its baseline.
func BenchmarkBareAlone(b *testing.B) { benchHandler(b, http.HandlerFunc(bare)) }

func benchHandler(b *testing.B, h http.Handler) {
	b.ReportAllocs()
	body := bytes.NewReader(nil)
	for b.Loop() {
		body.Reset([]byte(benchBody))
		r := httptest.NewRequest(http.MethodPost, "/api/quote/track", io.NopCloser(body))
		r.Header["Content-Type"] = []string{"application/json"}
		r.ContentLength = int64(len(benchBody))
		h.ServeHTTP(nowhere{http.Header{}}, r)
	}
}

// BenchmarkDecode measures reading the body alone.
func BenchmarkDecode(b *testing.B) {
	a, _ := newAPI(b)
	body := []byte(benchBody)
	var from *bodySource
	for _, rt := range a.routes {
		if rt.name == "TrackQuote" {
			from = rt.body
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := from.decoders.decode(body, from.shape); err != nil {
			b.Fatal(err)
		}
	}
}

type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}
