package inbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// follow follows leadEvents at an address until the end of the test. It returns when the
// first event has come.
func follow(t *testing.T, base string, headers ...string) *apptest.Follower {
	t.Helper()
	f := &apptest.Follower{T: t, Base: base, Headers: headers}
	f.Start()
	return f
}

// openStream asks for leadEvents after a position, which is JSON.
func openStream(ctx context.Context, base, after string, headers ...string) (*http.Response, error) {
	return apptest.OpenStreamBy(ctx, http.DefaultClient, base, after, headers...)
}

// TestLive tells of what happens to a lead, also by a command in another process.
func TestLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := apptest.Launch(t, dir, apptest.LiveEnv()...)
	f := follow(t, r.Base+"/graphql", apptest.OperatorAuth)

	id := r.Submits("first")
	f.Within(time.Second, id, "CREATED")
	f.Within(5*time.Second, id, "CHANGED") // delivered

	suspicious := apptest.NewLead("second")
	suspicious["website"] = "https://spam.example"
	_, answer := r.Post("/api/quote/submit", suspicious)
	held, _ := answer["submissionId"].(string)
	f.Within(time.Second, held, "CREATED")
	r.Operate(`mutation { rejectLead(id: "` + held + `") { state } }`)
	f.Within(time.Second, held, "CHANGED")

	third := apptest.NewLead("third")
	third["website"] = "https://spam.example"
	_, answer = r.Post("/api/quote/submit", third)
	other, _ := answer["submissionId"].(string)
	f.Within(time.Second, other, "CREATED")
	if out, code := apptest.Command(t, []string{"ENVIRONMENT=development", "DATA_DIR=" + dir},
		"leads", "release", other); code != 0 {
		t.Fatal(out)
	}
	f.Within(1500*time.Millisecond, other, "CHANGED")

	r.Operate(`mutation { eraseLeads(email: "first@example.com", dryRun: false) { complete } }`)
	f.Within(time.Second, id, "ERASED")
	if restarts, breaks := f.Ends(); restarts > 0 || breaks > 0 {
		t.Errorf("%d restarts, %d breaks", restarts, breaks)
	}
}

// TestLiveInstances tells at one instance what another one changes.
func TestLiveInstances(t *testing.T) {
	t.Parallel()
	address := pgserver.Start(t).NewDatabase(t)
	a := apptest.Launch(t, t.TempDir(), apptest.LiveEnv("DATABASE_URL="+address)...)
	b := apptest.Launch(t, t.TempDir(), apptest.LiveEnv("DATABASE_URL="+address)...)
	here, there := follow(t, a.Base+"/graphql", apptest.OperatorAuth), follow(t, b.Base+"/graphql", apptest.OperatorAuth)

	var slowest time.Duration
	for i := range 10 {
		id := a.Submits(fmt.Sprint("live-", i))
		slowest = max(slowest, there.Within(time.Second, id, "CREATED"))
		here.Within(time.Second, id, "CREATED")
	}
	t.Logf("told after %v at worst", slowest)
}

// A position that is not known, such as one of a database that was replaced, restarts.
func TestLiveRestarts(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), apptest.LiveEnv()...)
	f := follow(t, r.Base+"/graphql", apptest.OperatorAuth)
	f.Within(time.Second, r.Submits("one"), "CREATED")
	position := f.At()

	first := func(after string) (e apptest.LeadEvent) {
		t.Helper()
		resp, err := openStream(t.Context(), r.Base+"/graphql", after, apptest.OperatorAuth)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" ||
			resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}

		reader := bufio.NewReader(resp.Body)
		name, _ := reader.ReadString('\n')
		data, _ := reader.ReadString('\n')
		var answer struct {
			Data struct{ LeadEvents apptest.LeadEvent }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &answer); err != nil ||
			name != "event: next\n" {
			t.Errorf("%s%s: %v", name, data, err)
		}
		return answer.Data.LeadEvents
	}
	if e := first(strconv.Quote(position)); e.Restarted || e.Position == "" {
		t.Errorf("after %s: %+v", position, e)
	}
	seq, _, _ := strings.Cut(position, ".")
	for _, after := range []string{"null", `""`, `"nonsense"`, `"999999.1"`, `"` + seq + `.1"`, `"-1"`} {
		if e := first(after); !e.Restarted || len(e.Changes) > 0 {
			t.Errorf("after %s: %+v", after, e)
		}
	}
}

// TestLiveRoles refuses streams before they begin, with the status of the error. A viewer gets
// no ids.
func TestLiveRoles(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{"ADMIN_PAGE": "on", "ADMIN_API_TOKEN": "operators"})
	s.Submits("one")

	for name, test := range map[string]struct {
		accept, auth string
		status       int
	}{
		"no token":      {"text/event-stream", "Authorization: ", 401},
		"another token": {"text/event-stream", apptest.CacheAuth, 401},
		"no stream":     {"application/json", apptest.OperatorAuth, 406},
		"not wanted":    {"text/event-stream;q=0, application/json", apptest.OperatorAuth, 406},
	} {
		resp, err := openStream(t.Context(), s.Base+"/graphql", "null", "Accept: "+test.accept, test.auth)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.status {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, test.status)
		}
	}

	if got := s.Do("GET", "/graphql?query=subscription%7BleadEvents%7Bposition%7D%7D", "",
		"Accept: text/event-stream", apptest.OperatorAuth); got.Status != 405 {
		t.Errorf("by GET: %d %s", got.Status, got.Body)
	}
	if got := s.Do("POST", "/graphql", `{"query":"{ __typename }"}`, "Accept: text/event-stream"); got.Status != 406 {
		t.Errorf("a query as a stream: %d %s", got.Status, got.Body)
	}

	for _, role := range schema.AllRole {
		first := streams(s, role)
		if change := first.Changes; len(change) == 0 || (change[0].ID == "") != (role == schema.RoleViewer) {
			t.Errorf("%s: %+v", role, first)
		}
	}
}

// streams returns the event after the submission of a lead, for an operator of a role.
func streams(s *apptest.Service, role schema.Role) apptest.LeadEvent {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 10*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", "/admin/graphql",
		strings.NewReader(fmt.Sprintf(apptest.FollowLeads, "null")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r = r.WithContext(schema.WithCaller(r.Context(), schema.Caller{
		Header:    r.Header,
		Operators: true,
		Operator:  schema.Operator{Actor: "someone", Role: role},
	}))

	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	go s.App.Server.InboxGraphQL.ServeHTTP(pipeWriter{httptest.NewRecorder(), write}, r)
	for lines := bufio.NewScanner(read); lines.Scan(); {
		var answer struct {
			Data struct{ LeadEvents apptest.LeadEvent }
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(text), &answer) == nil {
			if !answer.Data.LeadEvents.Restarted {
				return answer.Data.LeadEvents
			}
			s.Submits("for-" + strings.ToLower(string(role)))
		}
	}
	s.T.Fatal("the stream ended")
	return apptest.LeadEvent{}
}

// pipeWriter is a response whose body can be read while it is written.
type pipeWriter struct {
	*httptest.ResponseRecorder
	body io.Writer
}

func (w pipeWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
