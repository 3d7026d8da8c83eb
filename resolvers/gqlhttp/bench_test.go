package gqlhttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// The query of a page's header and footer: every field of the site settings.
const wholeQuery = `query SiteSettings($id: ID!) { SiteSettings(id: $id) {
  contactPhones { number label { en es ro } displayLocation } contactPhone contactEmail
  logo { asset { url } } socialLinks { facebook twitter linkedin instagram github }
  address { street city state zipCode country }
  businessHours { monday tuesday wednesday thursday friday saturday sunday } } }`

func wholeSettings() *schema.SiteSettings {
	day := ptr("09:00 - 18:00")
	phone := func(n string) *schema.ContactPhoneNumber {
		return &schema.ContactPhoneNumber{
			Number: n, Label: &schema.LocalizedString{En: ptr("Office"), Es: ptr("Oficina"), Ro: ptr("Birou")},
			DisplayLocation: []string{"contact", "footer"},
		}
	}
	return &schema.SiteSettings{
		ContactPhones: []*schema.ContactPhoneNumber{phone("+40 21 555 0100"), phone("+34 91 555 0100")},
		ContactPhone:  ptr("+40 21 555 0100"), ContactEmail: ptr("hello@example.com"),
		Logo:        &schema.Logo{Asset: &schema.ImageAsset{URL: ptr("https://cdn.example.com/logo.png")}},
		SocialLinks: &schema.SocialLinks{Facebook: ptr("https://facebook.com/example"), Linkedin: ptr("https://linkedin.com/company/example")},
		Address:     &schema.PostalAddress{Street: ptr("Strada Exemplu 1"), City: ptr("București"), ZipCode: ptr("010101"), Country: ptr("România")},
		BusinessHours: &schema.BusinessHours{
			Monday: day, Tuesday: day, Wednesday: day, Thursday: day, Friday: day, Saturday: ptr("closed"), Sunday: ptr("closed"),
		},
	}
}

func wholeBody(b testing.TB) string {
	return asBody(b, map[string]any{"query": wholeQuery, "operationName": "SiteSettings", "variables": map[string]any{"id": "siteSettings"}})
}

// BenchmarkHotRead and BenchmarkBare compare a hot query with a handler that reads the
// same bytes and writes the same bytes.
func BenchmarkHotRead(b *testing.B) {
	benchDoor(b, nil)
}

// BenchmarkBare is the baseline of BenchmarkHotRead.
func BenchmarkBare(b *testing.B) {
	var page []byte
	s := &setup{site: newSite()}
	s.site.settings = wholeSettings()
	h, _ := s.handler(b, nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(wholeBody(b)))
	r.Header.Set("Content-Type", typeJSON)
	h.ServeHTTP(w, r)
	page = w.Body.Bytes()
	load(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	}))
}

// BenchmarkMiss and BenchmarkStockGqlgen run the operation each time.
func BenchmarkMiss(b *testing.B) {
	benchDoor(b, func(s *setup) { s.options.AnswerBytes = -1 })
}

// BenchmarkStockGqlgen is the baseline of BenchmarkMiss: gqlgen's own server and caches.
func BenchmarkStockGqlgen(b *testing.B) {
	s := newSite()
	s.settings = wholeSettings()
	server := handler.New(s.executable())
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	load(b, server)
}

func benchDoor(b *testing.B, adjust func(*setup)) {
	s := &setup{site: newSite()}
	s.site.settings = wholeSettings()
	if adjust != nil {
		adjust(s)
	}
	h, _ := s.handler(b, nil)
	load(b, h)
}

// load sends the query over 32 connections, through as little client as there can be.
func load(b *testing.B, h http.Handler) {
	b.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	body := wholeBody(b)
	request := fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	before := processorTime(b)
	defer func() {
		b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	}()
	b.ReportAllocs()
	b.ResetTimer()
	for range 32 {
		group.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReaderSize(conn, 16<<10)
			for left.Add(-1) >= 0 {
				if _, err := io.WriteString(conn, request); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// processorTime is what this process has used, which other processes hardly disturb.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// skipAnswer reads one answer with a Content-Length, which has to be 200.
func skipAnswer(in *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return fmt.Errorf("answer %s", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	_, err := in.Discard(length)
	return err
}
