package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Tokens of the service under load.
const (
	cacheToken = "soak-cache"
	hookToken  = "soak-webhook"
)

// kept is how many of the latest submissions PDFs are fetched of.
const kept = 100

// load is everything at once that a site, its editors, its operators and careless
// clients do.
type load struct {
	base   string
	client *http.Client
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu    sync.Mutex
	tally map[string]*tally // by kind of request
	ids   []string          // latest submissions
}

// tally counts the requests of a kind, and those not answered as they should be.
type tally struct {
	sent, wrong int
	example     string
}

func newLoad(base string) *load {
	return &load{
		base: base, tally: map[string]*tally{},
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
	}
}

// kind is one kind of request.
type kind struct {
	name    string
	workers int
	every   time.Duration // of each worker
	send    func(ctx context.Context, n int) error
}

func (l *load) kinds() []kind {
	return []kind{
		{"reads", 3, 4 * time.Millisecond, l.read},
		{"reads on new connections", 1, 40 * time.Millisecond, l.readAnew},
		{"tracked states", 2, 6 * time.Millisecond, l.track},
		{"submissions", 2, 150 * time.Millisecond, l.submit},
		{"PDFs", 1, 60 * time.Millisecond, l.document},
		{"webhooks", 1, 300 * time.Millisecond, l.webhook},
		{"cache clears", 1, 1500 * time.Millisecond, l.clear},
		{"invalid requests", 1, 25 * time.Millisecond, l.nonsense},
		{"broken connections", 1, 50 * time.Millisecond, l.hangUp},
	}
}

func (l *load) begin(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	for _, k := range l.kinds() {
		l.tally[k.name] = &tally{} // all of them before anybody works
	}
	for _, k := range l.kinds() {
		for worker := range k.workers {
			l.group.Go(func() { l.work(ctx, k, worker) })
		}
	}
}

func (l *load) work(ctx context.Context, k kind, worker int) {
	for n := worker; ctx.Err() == nil; n += k.workers {
		err := k.send(ctx, n)
		if ctx.Err() != nil {
			return // cut off by ourselves
		}
		l.mu.Lock()
		t := l.tally[k.name]
		if t.sent++; err != nil {
			t.wrong++
			t.example = err.Error()
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(k.every):
		}
	}
}

// end stops the load; it may be called again.
func (l *load) end() {
	l.cancel()
	l.group.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tally {
		n += t.sent
	}
	return n
}

// ask sends a request, wants a status and returns the answer.
func (l *load) ask(ctx context.Context, want int, method, path, body string, headers ...string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	req.Close = slices.Contains(headers, "Connection: close")
	resp, err := l.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s %s is answered with %s: %.200s", method, path, resp.Status, data)
	}
	return string(data), err
}

// locale goes round the locales.
func locale(n int) string { return []string{"en", "es", "ro"}[n%3] }

func (l *load) read(ctx context.Context, n int) error {
	// Every tenth document is one that nobody sent before.
	alias := "a"
	if n%10 == 0 {
		alias = fmt.Sprintf("a%d", n)
	}
	answer, err := l.ask(ctx, http.StatusOK, http.MethodPost, "/graphql",
		`{"query":"{ `+alias+`: content(documentType: \"heroSection\", locale: `+locale(n)+`) { id } SiteSettings(id: \"siteSettings\") { contactEmail } }"}`)
	if err == nil && !strings.Contains(answer, `"heroSection-`+locale(n)) {
		err = fmt.Errorf("an answer without the content: %.200s", answer)
	}
	return err
}

func (l *load) readAnew(ctx context.Context, n int) error {
	path := []string{"/api/cache/clear", "/api/openapi.json", "/healthz", "/readyz"}[n%4]
	_, err := l.ask(ctx, http.StatusOK, http.MethodGet, path, "", "Connection: close")
	return err
}

func (l *load) track(ctx context.Context, n int) error {
	_, err := l.ask(ctx, http.StatusOK, http.MethodPost, "/api/quote/track",
		fmt.Sprintf(`{"sessionId":"soak-%d","selections":{"projectType":"web-app","features":["blog"]},"estimate":{"min":%d,"max":9000,"currency":"EUR"}}`, n%1000, n%1000))
	return err
}

func (l *load) submit(ctx context.Context, n int) error {
	answer, err := l.ask(ctx, http.StatusOK, http.MethodPost, "/api/quote/submit",
		fmt.Sprintf(`{"sessionId":"soak-lead-%d","locale":%q,"contact":{"firstName":"Ștefania","lastName":"Soak","email":"soak-%d@example.com"},`+
			`"selections":{"projectType":"web-app","features":["blog","payments"]},"estimate":{"min":1000,"max":9000,"currency":"EUR"}}`, n, locale(n), n))
	if err != nil {
		return err
	}
	_, id, _ := strings.Cut(answer, `"submissionId":"`)
	id, _, ok := strings.Cut(id, `"`)
	if !ok {
		return fmt.Errorf("a submission without an id: %.200s", answer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
	l.ids = l.ids[max(0, len(l.ids)-kept):]
	return nil
}

func (l *load) document(ctx context.Context, n int) error {
	l.mu.Lock()
	id := ""
	if len(l.ids) > 0 {
		id = l.ids[n%len(l.ids)]
	}
	l.mu.Unlock()
	if id == "" {
		return nil
	}
	answer, err := l.ask(ctx, http.StatusOK, http.MethodGet, "/api/quote/pdf?id="+id+"&locale="+locale(n), "")
	if err == nil && !strings.HasPrefix(answer, "%PDF-") {
		err = fmt.Errorf("not a PDF: %.20q", answer)
	}
	return err
}

func (l *load) webhook(ctx context.Context, n int) error {
	_, err := l.ask(ctx, http.StatusOK, http.MethodPost, "/api/webhooks/cms", `{"_id":"heroSection-`+locale(n)+`","_type":"heroSection","language":"`+locale(n)+`"}`,
		"Authorization: Bearer "+hookToken, fmt.Sprintf("Idempotency-Key: soak-%d", n))
	return err
}

func (l *load) clear(ctx context.Context, n int) error {
	query := "pattern=content:*"
	if n%2 == 1 {
		query = "all=true"
	}
	_, err := l.ask(ctx, http.StatusOK, http.MethodPost, "/api/cache/clear?"+query, "", "Authorization: Bearer "+cacheToken)
	return err
}

func (l *load) nonsense(ctx context.Context, n int) error {
	var err error
	switch n % 4 {
	case 0:
		_, err = l.ask(ctx, http.StatusBadRequest, http.MethodPost, "/api/quote/submit", `{"sessionId":`)
	case 1:
		_, err = l.ask(ctx, http.StatusNotFound, http.MethodGet, fmt.Sprintf("/nowhere/%d", n), "")
	case 2:
		_, err = l.ask(ctx, http.StatusUnauthorized, http.MethodPost, "/api/cache/clear?all=true", "", "Authorization: Bearer wrong")
	case 3:
		_, err = l.ask(ctx, http.StatusNotFound, http.MethodGet, fmt.Sprintf("/api/quote/pdf?id=%026d", n), "")
	}
	return err
}

// hangUp leaves in the middle: of a header, of a body, or before the answer.
func (l *load) hangUp(ctx context.Context, n int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(l.base, "http://"))
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, []string{
		"POST /api/quote/track HTTP/1.1\r\nHost: so",
		"POST /api/quote/track HTTP/1.1\r\nHost: soak\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"sessionId\":",
		"GET /api/quote/pdf?id=x HTTP/1.1\r\nHost: soak\r\n\r\n",
	}[n%3])
	return errors.Join(err, conn.Close())
}

// report prints what was sent, and fails if anything was not answered as it should be.
func (l *load) report(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nSENT\tTIMES\tNOT ANSWERED AS IT SHOULD BE")
	var errs []error
	for _, k := range l.kinds() {
		t := l.tally[k.name]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\n", k.name, t.sent, t.wrong)
		switch {
		case t.wrong > 0:
			errs = append(errs, fmt.Errorf("%s: %d of %d were not answered as they should be, as in: %s", k.name, t.wrong, t.sent, t.example))
		case t.sent == 0:
			errs = append(errs, fmt.Errorf("%s: none was sent", k.name))
		}
	}
	return errors.Join(append(errs, w.Flush())...)
}
