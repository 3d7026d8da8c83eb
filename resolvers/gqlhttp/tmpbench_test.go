package gqlhttp_test

import (
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

type nullW struct{ h http.Header }

func (n *nullW) Header() http.Header         { return n.h }
func (n *nullW) Write(b []byte) (int, error) { return len(b), nil }
func (n *nullW) WriteHeader(int)             {}
func direct(b *testing.B, h http.Handler) {
	body := wholeBody(b)
	b.ReportAllocs()
	b.ResetTimer()
	var a, z syscall.Rusage
	syscall.Getrusage(0, &a)
	defer func() {
		syscall.Getrusage(0, &z)
		b.ReportMetric(float64(z.Utime.Nano()-a.Utime.Nano()+z.Stime.Nano()-a.Stime.Nano())/float64(b.N), "cpu-ns/op")
	}()
	for range b.N {
		r, _ := http.NewRequestWithContext(b.Context(), "POST", "/graphql", strings.NewReader(body))
		r.Header.Set("Content-Type", typeJSON)
		h.ServeHTTP(&nullW{http.Header{}}, r)
	}
}
func BenchmarkDirectMiss(b *testing.B) {
	s := &setup{site: newSite()}
	s.site.settings = wholeSettings()
	s.options.AnswerBytes = -1
	h, _ := s.handler(b, nil)
	direct(b, h)
}
func BenchmarkDirectHot(b *testing.B) {
	s := &setup{site: newSite()}
	s.site.settings = wholeSettings()
	h, _ := s.handler(b, nil)
	direct(b, h)
}
func BenchmarkDirectStock(b *testing.B) {
	s := newSite()
	s.settings = wholeSettings()
	server := handler.New(s.executable())
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	direct(b, server)
}
