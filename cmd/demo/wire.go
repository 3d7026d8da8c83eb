package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// wire sends requests and prints what goes over.
type wire struct {
	base string
	out  io.Writer
}

// shown is how much of a body is printed.
const shown = 600

// send sends one request, prints both ways, and fails on anything but a success.
func (w *wire) send(ctx context.Context, method, path, body string, headers ...string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(w.out, "\n→ %s %s\n", method, path)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
		_, _ = fmt.Fprintf(w.out, "  %s\n", h)
	}
	if body != "" {
		_, _ = fmt.Fprintf(w.out, "  %s\n", short(body))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(w.out, "← %s  %s\n", resp.Status, resp.Header.Get("Content-Type"))
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		_, _ = fmt.Fprintf(w.out, "  %s\n", short(string(data)))
	} else {
		_, _ = fmt.Fprintf(w.out, "  %s, %d bytes\n", resp.Header.Get("Content-Disposition"), len(data))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s answered %s", method, path, resp.Status)
	}
	return data, nil
}

// query runs a GraphQL query and returns its data.
func (w *wire) query(ctx context.Context, document string) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]string{"query": document})
	if err != nil {
		return nil, err
	}
	data, err := w.send(ctx, http.MethodPost, "/graphql", string(body))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, fmt.Errorf("the query failed: %s", answer.Errors[0].Message)
	}
	return answer.Data, nil
}

func short(s string) string { return cut(s, shown) }

// cut shortens a text to a number of characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}

// pieces lets several goroutines write to one place, a whole piece each.
type pieces struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes one piece.
func (p *pieces) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}
