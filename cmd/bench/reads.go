package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// settingsQuery asks for every field of the site settings, as a page's header and
// footer do.
const settingsQuery = `query SiteSettings($id: ID!) { SiteSettings(id: $id) {
  contactPhones { number label { en es ro } displayLocation } contactPhone contactEmail
  logo { asset { url } } socialLinks { facebook twitter linkedin instagram github }
  address { street city state zipCode country }
  businessHours { monday tuesday wednesday thursday friday saturday sunday } } }`

func settingsRequest() []byte {
	body, err := json.Marshal(map[string]any{
		"query": settingsQuery, "operationName": "SiteSettings", "variables": map[string]any{"id": "siteSettings"},
	})
	if err != nil {
		panic(err) // strings only
	}
	return request(http.MethodPost, "/graphql", "application/json", string(body))
}

// fetch returns the body a server answers a request with.
func fetch(ctx context.Context, method, url, body string, header ...string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %.200s", url, resp.Status, data)
	}
	return data, err
}

// readVsNetHTTP compares a hot query with a bare handler that reads the same request
// and writes the same bytes.
func readVsNetHTTP(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service, err := startService(ctx, o, dir, true)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	body := string(settingsRequest())
	body = body[strings.Index(body, "\r\n\r\n")+4:]
	page, err := fetch(ctx, http.MethodPost, "http://"+service.addr+"/graphql", body, "Content-Type: application/json", "Accept: application/json")
	if err != nil {
		return nil, err
	}
	bare, err := startRole(ctx, "bare-page", true, pageVariable+"="+string(page))
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	base, value, err := pair(ctx, o, bare, service, true, same(settingsRequest()))
	if err != nil {
		return nil, err
	}
	return compareRates("read-vs-nethttp", "≥ 0.90", base, value), nil
}

// readMissVsGqlgen compares the same query with no kept answers with gqlgen's own
// server over the same data.
func readMissVsGqlgen(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service, err := startService(ctx, o, dir, true, "GRAPHQL_ANSWER_CACHE=0")
	if err != nil {
		return nil, err
	}
	defer service.stop()
	stock, err := startRole(ctx, "stock-gqlgen", true)
	if err != nil {
		return nil, err
	}
	defer stock.stop()
	base, value, err := pair(ctx, o, stock, service, true, same(settingsRequest()))
	if err != nil {
		return nil, err
	}
	return compareRates("read-miss-vs-gqlgen", "≥ 1.2", base, value), nil
}

// restVsNetHTTP compares a JSON body on its way through the adapter, the executor and
// a resolver that stores nothing with a bare handler that decodes and encodes it.
func restVsNetHTTP(ctx context.Context, o options) ([]line, error) {
	bare, err := startRole(ctx, "bare-json", true)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	adapter, err := startRole(ctx, "rest-nostore", true)
	if err != nil {
		return nil, err
	}
	defer adapter.stop()
	base, value, err := pair(ctx, o, bare, adapter, true, same(trackRequest("bench-session")))
	if err != nil {
		return nil, err
	}
	return compareRates("rest-vs-nethttp", "≥ 0.60", base, value), nil
}

func trackRequest(session string) []byte {
	return request(http.MethodPost, "/api/quote/track", "application/json", trackBody(session))
}

func trackBody(session string) string {
	return `{"sessionId":"` + session + `","selections":{"projectType":"web-app","features":["blog","multilingual","payments"],` +
		`"complexity":"medium","timeline":"1-3-months"},"estimate":{"min":9000,"max":14000,"currency":"EUR"},` +
		`"formData":{"email":"ana@example.com","firstName":"Ana"}}`
}

// start measures how long the service takes from being started on an existing database
// to its first answer.
func start(ctx context.Context, o options) ([]line, error) {
	dir, err := os.MkdirTemp("", "siteapi-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	first, err := startService(ctx, o, dir, false)
	if err != nil {
		return nil, err
	}
	first.stop()
	var bare, service []float64
	for range o.rounds {
		for _, m := range []struct {
			to    *[]float64
			start func() (*server, error)
			path  string
		}{
			{&bare, func() (*server, error) { return startRole(ctx, "bare-page", false, pageVariable+"=x") }, "/"},
			{&service, func() (*server, error) { return startService(ctx, o, dir, false) }, "/api/cache/clear"},
		} {
			began := time.Now()
			s, err := m.start()
			if err != nil {
				return nil, err
			}
			_, err = fetch(ctx, http.MethodGet, "http://"+s.addr+m.path, "")
			*m.to = append(*m.to, float64(time.Since(began))/float64(time.Millisecond))
			s.stop()
			if err != nil {
				return nil, err
			}
		}
	}
	if len(service) == 0 {
		return nil, errors.New("nothing was measured")
	}
	return []line{compare("start-to-first-answer-vs-nethttp", "ms", "value < 100 ms", bare, service)}, nil
}
