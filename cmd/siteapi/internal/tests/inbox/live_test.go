package inbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// follow subscribes to leadEvents at an address until the end of the test. It returns
// after the first event.
func follow(t *testing.T, base string, headers ...string) *follower {
	t.Helper()
	f := &follower{T: t, Base: base, Headers: headers}
	f.Start()
	return f
}

// openStream requests leadEvents.
func openStream(t *testing.T, base string, headers ...string) *http.Response {
	t.Helper()
	resp, err := openStreamBy(t.Context(), apptest.HTTP, base, "null", headers...)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestLive receives the events of a lead, including those caused by a command in another
// process.
func TestLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := apptest.Launch(t, dir, apptest.LiveEnv()...)
	f := follow(t, r.Base+"/graphql", apptest.OperatorAuth)

	id := r.Submit("first")
	f.Within(time.Second, id, "CREATED")
	f.Within(5*time.Second, id, "CHANGED") // delivered

	inReview := r.Submit("second", `"website": "https://spam.example"`)
	f.Within(time.Second, inReview, "CREATED")
	if out, code := apptest.Command(t, []string{"ENVIRONMENT=development", "DATA_DIR=" + dir},
		"leads", "release", inReview); code != 0 {
		t.Fatal(out)
	}
	f.Within(1500*time.Millisecond, inReview, "CHANGED")

	r.Operate(`mutation { eraseLeads(email: "first@example.com", dryRun: false) { complete } }`)
	f.Within(time.Second, id, "ERASED")
	if restarts, breaks := f.Ends(); restarts > 0 || breaks > 0 {
		t.Errorf("%d restarts, %d breaks", restarts, breaks)
	}
}

// TestLiveRoles opens streams that are rejected before they begin, with the status of the
// error. A viewer gets no ids.
func TestLiveRoles(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t,
		"ADMIN_PAGE=on", "ADMIN_API_TOKEN=operators", "ADMIN_TOKENS=eve:viewer:token-of-a-viewer",
	)
	const stream = "text/event-stream"
	for name, test := range map[string]struct {
		accept, auth string
		status       int
	}{
		"no token":         {stream, "Authorization: ", 401},
		"another token":    {stream, apptest.CacheAuth, 401},
		"JSON only":        {"application/json", apptest.OperatorAuth, 406},
		"streams with q=0": {stream + ";q=0, application/json", apptest.OperatorAuth, 406},
		"an admin":         {stream, apptest.OperatorAuth, 200},
	} {
		resp := openStream(t, s.Base+"/graphql", "Accept: "+test.accept, test.auth)
		if resp.StatusCode != test.status || test.status == 200 &&
			(resp.Header.Get("Content-Type") != stream || resp.Header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %d %v, want %d", name, resp.StatusCode, resp.Header, test.status)
		}
	}
	if got := s.Do("POST", "/graphql", `{"query":"{ __typename }"}`, "Accept: "+stream); got.Status != 406 {
		t.Errorf("a query as a stream: %s", got)
	}

	events := openStream(t, s.Base+"/graphql", "Authorization: Bearer token-of-a-viewer")
	s.Submit("one")
	seen := ""
	for part := make([]byte, 4096); !strings.Contains(seen, "CREATED"); {
		n, err := events.Body.Read(part)
		if seen += string(part[:n]); err != nil {
			t.Fatal(err, seen)
		}
	}
	if !strings.Contains(seen, `"id":null`) {
		t.Errorf("a viewer sees %s", seen)
	}
}

// A stream ends when its login ends or gets another role. Streams of other logins are not
// affected.
func TestLiveEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		groups []string // groups of the account afterward
		status int      // status of a new stream afterward
		ends   bool     // whether an admin ends the login
	}{
		"ended by an admin": {[]string{"desk"}, 401, true},
		"a lower role":      {[]string{"marketing"}, 200, false},
		"no role left":      {nil, 401, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, b := startWithAccounts(t)
			signIn(b, p, "desk")
			out, _ := s.Run("logins", "list")
			id := regexp.MustCompile(`\b[0-9a-f]{12}\b`).FindString(out)
			other := apptest.NewBrowser(t, b.Base)
			signIn(other, p, "desk")
			cookie := func(b *apptest.Browser) string { return "Cookie: " + b.Cookie.Name + "=" + b.Cookie.Value }
			stream := openStream(t, b.Base+"/admin/graphql", cookie(b))
			remaining := follow(t, b.Base+"/admin/graphql", cookie(other))

			if p.Set(func() { p.Groups = test.groups }); test.ends {
				s.Prints("logins end "+id, "1")
			} else {
				s.Damage(`UPDATE logins SET check_at = 1 WHERE hash LIKE '` + id + `%'`)
			}
			if _, err := io.Copy(io.Discard, stream.Body); err != nil || stream.StatusCode != 200 {
				t.Errorf("the stream broke: %d %v", stream.StatusCode, err)
			}
			if again := openStream(t, b.Base+"/admin/graphql", cookie(b)); again.StatusCode != test.status {
				t.Errorf("another stream: %d, want %d", again.StatusCode, test.status)
			}
			remaining.Within(time.Minute, s.Submit("one"), "CREATED")
			if _, breaks := remaining.Ends(); breaks > 0 {
				t.Error("the stream of another login ended")
			}
		})
	}
}

// TestLiveLimits opens many streams. They take no slots of other requests, and end first
// when the service stops.
func TestLiveLimits(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), append(apptest.LiveEnv(), "MAX_REQUESTS=8", "RATE_LIMITS=on", "DRAIN_DELAY=5s")...)
	var streams []*http.Response
	for range 50 {
		streams = append(streams, openStream(t, r.Base+"/graphql", apptest.OperatorAuth))
	}
	if got := r.Do("GET", "/api/cache/clear", ""); got.Status != 200 {
		t.Errorf("another request: %s", got)
	}

	began := time.Now()
	must(t, r.Cmd.Process.Signal(syscall.SIGTERM))
	for i, resp := range streams {
		if _, _ = io.Copy(io.Discard, resp.Body); resp.StatusCode != 200 {
			t.Errorf("stream %d: %d", i, resp.StatusCode)
		}
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the streams ended only after %v, want less than DRAIN_DELAY", took)
	}
	if err := r.Cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLiveMissesNothing restarts the service under an open page while leads are submitted
// and assigned. The page queries only the leads that events name, and in the end shows
// the state of all leads.
func TestLiveMissesNothing(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"SQLite":     nil,
		"PostgreSQL": {"DATABASE_URL=" + pgserver.Start(t).NewDatabase(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, address := t.TempDir(), apptest.FreeAddress(t)
			owners := make([]string, 80)
			for i := range owners {
				owners[i] = fmt.Sprintf("owner-%d@example.com", i)
			}
			env := append(apptest.LiveEnv("LISTEN_ADDR="+address, "DRAIN_DELAY=0s",
				"ADMIN_TOKENS="+apptest.Owners(owners...)), env...)
			r := apptest.Launch(t, dir, env...)

			var mu sync.Mutex
			shown, due := map[string]string{}, map[string]bool{} // owners by lead, and leads to query
			base := "http://" + address
			f := &follower{T: t, Base: base + "/graphql", Headers: []string{apptest.OperatorAuth}}
			f.Page = func(event leadEvent) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range event.Changes {
					due[c.ID] = true
				}
				for id := range due {
					if owner := ownerOf(base, id); owner != "" {
						shown[id] = owner
						delete(due, id)
					}
				}
			}
			f.Start()

			truth := map[string]string{}
			for i := range owners {
				if i%20 == 19 {
					_ = r.End(syscall.SIGTERM)
					r = apptest.Launch(t, dir, env...)
				}
				id := r.Submit(fmt.Sprint("lead-", i))
				truth[id] = "null"
				for other := range truth { // the order of a map is random
					truth[other] = strconv.Quote(owners[i])
					r.Operate(fmt.Sprintf(`mutation { assignLeads(leads: [%q], owner: %s) { changed } }`, other, truth[other]))
					break
				}
			}
			apptest.Eventually(t, "the page shows every owner", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return fmt.Sprint(shown) == fmt.Sprint(truth)
			})
			if restarts, breaks := f.Ends(); restarts > 0 || breaks < 4 {
				t.Errorf("%d restarts, %d breaks", restarts, breaks)
			}
		})
	}
}

// ownerOf returns the owner of a lead as JSON, or an empty string while the service is down.
func ownerOf(base, id string) string {
	body := fmt.Sprintf(`{"query":"{ lead(lead: \"%s\") { owner } }"}`, id)
	resp, err := apptest.Send(context.Background(), apptest.HTTP, "POST", base+"/graphql", body, apptest.OperatorAuth)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	_, owner, _ := strings.Cut(string(text), `"owner":`)
	owner, _, _ = strings.Cut(owner, "}")
	return owner
}
