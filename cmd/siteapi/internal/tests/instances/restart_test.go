package instances

import (
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

// traffic is a steady stream of leads that collects failures. Nothing is retried: a
// visitor's browser would not retry a lead either.
type traffic struct {
	url     string
	clients [2]*http.Client

	mu       sync.Mutex
	failures []string
	leads    []string // ids; empty after a failure
}

const leadsPerSecond = 100

func newTraffic(t *testing.T, address string) *traffic {
	t.Helper()
	// With so few connections, none is idle when the service closes idle connections.
	// Otherwise a request could race with the close, which no server can prevent.
	keeping := &http.Transport{MaxIdleConnsPerHost: 2, MaxConnsPerHost: 2}
	t.Cleanup(keeping.CloseIdleConnections)
	return &traffic{url: "http://" + address + "/api/quote/submit", clients: [2]*http.Client{
		{Transport: keeping, Timeout: time.Minute},
		{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute},
	}}
}

// run sends requests until ctx ends, at most 40 at a time so that a busy machine can keep
// up.
func (f *traffic) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	slots := make(chan struct{}, 40)
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(time.Second / leadsPerSecond)
		slots <- struct{}{}
		group.Go(func() { f.send(i); <-slots })
	}
}

func (f *traffic) send(i int) {
	data, err := json.Marshal(apptest.ValidLead(fmt.Sprint("lead-", i)))
	if err != nil {
		panic(err)
	}

	// The client cannot retry a request whose body it cannot read again.
	resp, err := f.clients[i%2].Post(f.url, "application/json", io.MultiReader(bytes.NewReader(data)))
	var response struct{ SubmissionID string }
	if err == nil {
		if err = json.NewDecoder(resp.Body).Decode(&response); resp.StatusCode != 200 {
			err = errors.New(resp.Status)
		}
		_ = resp.Body.Close()
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.leads = append(f.leads, response.SubmissionID)
	if err != nil {
		f.failures = append(f.failures, fmt.Sprintf("client %d: %v", i%2, err))
	}
}

// Requests wait while a process that gets its socket from systemd is restarted.
func TestRestartWithSocketActivation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // as on systemd's sockets
	listener, err := plain.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()

	socket, err := listener.(*net.TCPListener).File()
	must(t, err)
	defer func() { _ = socket.Close() }()

	process := activate(t, dir, socket)
	f := newTraffic(t, listener.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.run(ctx); close(done) }()

	flows := func(n int) {
		apptest.Eventually(t, fmt.Sprint(n, " answers"), func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.leads) >= n
		})
	}
	for i := range 2 {
		flows((i + 1) * 70)
		if err := process.End(syscall.SIGTERM); err != nil {
			t.Errorf("stopping: %v", err)
		}
		process = activate(t, dir, socket)
	}
	flows(2 * leadsPerSecond)
	cancel()
	<-done

	if len(f.failures) > 0 {
		t.Errorf("%d of %d requests failed: %q", len(f.failures), len(f.leads), f.failures[:min(5, len(f.failures))])
	}
	s := &apptest.Client{T: t, DataDir: dir}
	for _, id := range f.leads {
		apptest.Eventually(t, id+" is delivered", func() bool {
			return slices.Contains(s.Files("cms"), "quoteSubmission."+id+".json")
		})
	}
}

// activate starts the binary as systemd would: with a socket, and with an address to
// which it reports that it is ready.
func activate(t *testing.T, dataDir string, socket *os.File) *apptest.Process {
	t.Helper()
	notified, err := net.ListenPacket("unixgram",
		fmt.Sprintf("@siteapi-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	must(t, err)
	defer func() { _ = notified.Close() }()

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
		"NOTIFY_SOCKET=" + notified.LocalAddr().String(),
	}
	cmd.ExtraFiles = []*os.File{socket}

	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	message := make([]byte, 64)
	_ = notified.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, _, err := notified.ReadFrom(message)
	if err != nil || string(message[:n]) != "READY=1" {
		t.Fatalf("the notification socket received %q, %v", message[:n], err)
	}
	return &apptest.Process{Client: apptest.Client{T: t}, Cmd: cmd}
}

// A stopping service reports its state at /readyz, and closes each connection after the
// next response. It finishes operators' requests, and waits a few seconds for a client that
// does not read its responses.
func TestDraining(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), "DRAIN_DELAY=4s", "ADMIN_ADDR="+admin)
	apptest.DialAndSend(t, r, strings.Repeat("GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 150))

	operator := make(chan error, 1)
	go func() {
		resp, err := apptest.HTTP.Get("http://" + admin + "/debug/pprof/trace?seconds=6")
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		operator <- err
	}()

	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	get := func(path string) (int, bool, string) {
		resp, err := client.Get(r.Base + path)
		must(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Close, string(body)
	}

	if status, closed, body := get("/readyz"); status != 200 || closed {
		t.Errorf("before: %d, closed %v: %s", status, closed, body)
	}

	must(t, r.Cmd.Process.Signal(syscall.SIGTERM))
	apptest.Eventually(t, "it reports that it is stopping", func() bool {
		status, closed, body := get("/readyz")
		return status == 503 && closed && strings.Contains(body, `"status":"stopping"`)
	})

	if status, closed, _ := get("/healthz"); status != 200 || !closed {
		t.Errorf("/healthz while stopping: %d, closed %v", status, closed)
	}
	if status, closed, _ := get("/api/cache/clear"); status != 200 || !closed {
		t.Errorf("a request while stopping: %d, closed %v", status, closed)
	}

	if err := errors.Join(<-operator, r.Cmd.Wait()); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// A second signal ends the process at once while it still handles the first one.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, apptest.Binary, "leads", "erase", "--email", "-")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())

	go func() {
		for err := error(nil); err == nil; err = cmd.Process.Signal(syscall.SIGTERM) {
			time.Sleep(400 * time.Millisecond) // it is starting, or handling the first signal
		}
	}()

	_ = cmd.Wait()
	if state := cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, exit code %d", state.Signal(), state.ExitStatus())
	}
}
