package instances

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// traffic is a steady stream of requests that counts those that fail. Nothing is
// repeated: a visitor's browser would not repeat a lead either.
type traffic struct {
	t       *testing.T
	base    string
	keeping *http.Client // keeps its connections
	single  *http.Client // makes one for each request

	mu       sync.Mutex
	sent     int
	failures []string
	leads    []string
	slowest  time.Duration
}

const requestsPerSecond = 200

func newTraffic(t *testing.T, address string) *traffic {
	t.Helper()
	// With so few connections none is idle when the service closes idle ones: a request
	// may cross with that, which no server can prevent.
	keeping := &http.Transport{MaxIdleConnsPerHost: 2, MaxConnsPerHost: 2}
	t.Cleanup(keeping.CloseIdleConnections)

	return &traffic{
		t:       t,
		base:    "http://" + address,
		keeping: &http.Client{Transport: keeping, Timeout: time.Minute},
		single:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute},
	}
}

// run sends requests until ctx ends, at most 40 at a time so that a busy machine can keep
// up.
func (f *traffic) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()

	tick := time.NewTicker(time.Second / requestsPerSecond)
	defer tick.Stop()

	places := make(chan struct{}, 40)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			places <- struct{}{}
			group.Go(func() { f.send(i); <-places })
		}
	}
}

// flows waits for a number of answers.
func (f *traffic) flows(n int) {
	f.t.Helper()
	apptest.Eventually(f.t, fmt.Sprint(n, " answers"), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.sent >= n
	})
}

func (f *traffic) send(i int) {
	client := f.keeping
	if i%2 == 0 {
		client = f.single
	}

	path, body := "/api/quote/track", any(object{"sessionId": fmt.Sprint("t-", i)})
	switch i % 6 {
	case 0, 1:
		path, body = "/api/quote/submit", apptest.ValidLead(fmt.Sprint("lead-", i))
	case 2, 3:
		path, body = "/graphql", object{"query": `{ SiteSettings(id: "siteSettings") { contactEmail } }`}
	}

	began := time.Now()
	status, answer, err := f.post(client, path, body)
	took := time.Since(began)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent++
	f.slowest = max(f.slowest, took)

	id, _ := answer["submissionId"].(string)
	switch {
	case err != nil || status != http.StatusOK:
		f.failures = append(f.failures,
			fmt.Sprintf("%s (kept open: %v): %d %v", path, client == f.keeping, status, err))
	case path == "/api/quote/submit":
		f.leads = append(f.leads, id)
	}
}

func (f *traffic) post(client *http.Client, path string, body any) (int, map[string]any, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}

	req, err := http.NewRequest(http.MethodPost, f.base+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	req.GetBody = nil // keeps the client from repeating the request by itself
	req.Header.Set("Content-Type", "application/json")

	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer map[string]any
	return resp.StatusCode, answer, json.NewDecoder(resp.Body).Decode(&answer)
}

// check fails for each failed request, and for a lead that is not stored and delivered.
func (f *traffic) check(dataDir string) {
	f.t.Helper()
	if len(f.failures) > 0 {
		f.t.Errorf("%d of %d requests failed: %s",
			len(f.failures), f.sent, strings.Join(f.failures[:min(5, len(f.failures))], "; "))
	}

	f.t.Logf("%d requests, %d failed, the slowest took %v",
		f.sent, len(f.failures), f.slowest.Round(time.Millisecond))

	s := &apptest.Service{T: f.t, DataDir: dataDir}
	stored := s.Files("cms")

	// The deliveries wait for their turn beside everything else.
	for deadline := time.Now().Add(10 * time.Second); len(stored) < len(f.leads) &&
		time.Now().Before(deadline); stored = s.Files("cms") {
		time.Sleep(20 * time.Millisecond)
	}

	if len(stored) != len(f.leads) {
		f.t.Errorf("%d of %d leads were delivered", len(stored), len(f.leads))
	}

	for _, id := range f.leads {
		if !slices.Contains(stored, "quoteSubmission."+id+".json") {
			f.t.Errorf("the lead %s is lost", id)
		}
	}
}

// While a process that systemd gives its socket to is restarted, requests wait.
func TestRestartWithSocketActivation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // systemd's sockets have it off
	listener, err := plain.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()

	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()

	process := activate(t, dir, socket)
	f := newTraffic(t, listener.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.run(ctx); close(done) }()

	for i := range 2 {
		f.flows((i + 1) * 140)
		if err := process.End(syscall.SIGTERM); err != nil {
			t.Errorf("stopping: %v", err)
		}
		process = activate(t, dir, socket)
	}

	f.flows(2 * requestsPerSecond)
	cancel()
	<-done
	f.check(dir)
}

// activate starts the binary as systemd would: with a socket, and with an address to
// which it reports that it is ready.
func activate(t *testing.T, dataDir string, socket *os.File) *apptest.Process {
	t.Helper()
	told, err := net.ListenPacket("unixgram",
		fmt.Sprintf("@siteapi-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = told.Close() }()

	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, apptest.Binary)
	cmd.Env = []string{
		"ENVIRONMENT=development",
		"LOG_FORMAT=json",
		"RATE_LIMITS=off",
		"ADMIN_ADDR=off",
		"DATA_DIR=" + dataDir,
		"DRAIN_DELAY=300ms",
		"LISTEN_ADDR=256.0.0.1:1",
		"LISTEN_FDS=1",
		"NOTIFY_SOCKET=" + told.LocalAddr().String(),
	}
	cmd.ExtraFiles = []*os.File{socket}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(out)) }()

	word := make([]byte, 64)
	_ = told.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, _, err := told.ReadFrom(word)
	if err != nil || string(word[:n]) != "READY=1" {
		t.Fatalf("systemd received %q, %v", word[:n], err)
	}
	return &apptest.Process{T: t, Cmd: cmd, Base: "http://" + "inherited"}
}

// A service that is stopping reports it at /readyz, and ends connections with their next
// answer. It finishes requests of operators, and waits some seconds for a client that
// does not read its answers.
func TestDraining(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), "DRAIN_DELAY=4s", "ADMIN_ADDR="+admin)
	apptest.DialAndSend(t, r, strings.Repeat("GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 150))

	operator := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + admin + "/debug/pprof/trace?seconds=6")
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		operator <- err
	}()

	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	get := func(path string) (int, bool, string) {
		resp, err := client.Get(r.Base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Close, string(body)
	}

	if status, closed, body := get("/readyz"); status != 200 || closed {
		t.Errorf("before: %d, closed %v: %s", status, closed, body)
	}

	if err := r.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, "it says that it stops", func() bool {
		status, closed, body := get("/readyz")
		return status == 503 && closed && strings.Contains(body, `"status":"stopping"`)
	})

	if status, closed, _ := get("/healthz"); status != 200 || !closed {
		t.Errorf("/healthz meanwhile: %d, closed %v", status, closed)
	}
	if status, closed, _ := get("/api/cache/clear"); status != 200 || !closed {
		t.Errorf("a request meanwhile: %d, closed %v", status, closed)
	}

	if err := errors.Join(<-operator, r.Cmd.Wait()); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// A second signal ends the process at once if the first one has to wait for something.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, apptest.Binary, "leads", "erase", "--email", "-")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	go func() {
		for err := error(nil); err == nil; err = cmd.Process.Signal(syscall.SIGTERM) {
			time.Sleep(400 * time.Millisecond) // it starts, or takes the first signal
		}
	}()

	_ = cmd.Wait()
	if state := cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, exit code %d", state.Signal(), state.ExitStatus())
	}
}
