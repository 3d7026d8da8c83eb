package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// service is the process under load.
type service struct {
	base, admin string
	cmd         *exec.Cmd
	done        chan struct{} // closed when the process has ended
	log         *os.File
	logPath     string
}

// startService starts the service on a fresh folder, with the local stand-ins of CMS and
// CRM, and waits until it answers.
func startService(ctx context.Context, binary, dir string) (*service, error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	public, err1 := freeAddress(ctx)
	admin, err2 := freeAddress(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s := &service{base: "http://" + public, admin: "http://" + admin, done: make(chan struct{}), logPath: filepath.Join(dir, "siteapi.log")}
	if s.log, err = os.Create(s.logPath); err != nil {
		return nil, err
	}
	// Not bound to a context: it ends by our signal.
	s.cmd = exec.Command(path, "serve") //nolint:noctx // see above
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = []string{
		"LISTEN_ADDR=" + public, "ADMIN_ADDR=" + admin, "DATA_DIR=" + filepath.Join(dir, "data"), "RATE_LIMITS=off",
		"CACHE_API_TOKEN=" + cacheToken, "CMS_WEBHOOK_SECRET=" + hookToken, "CONTENT_TYPES=heroSection",
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the service: %w", err), s.log.Close())
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is told by whether it answers
		close(s.done)
	}()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := get(ctx, s.base+"/healthz"); err == nil {
			return s, nil
		} else if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("the service does not answer: %w", err), s.stop())
		}
		select {
		case <-s.done:
			return nil, errors.Join(fmt.Errorf("the service ended by itself: see %s", s.logPath), s.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// stop ends the process and waits for it.
func (s *service) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.done
	return errors.Join(err, s.log.Close())
}

var (
	heapLine      = regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`)
	goroutineLine = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	residentLine  = regexp.MustCompile(`(?m)^process_resident_memory_bytes (\S+)$`)
)

const mega = 1 << 20

// look takes a sample: from the metrics on the admin listener, right after a collection,
// and from the system.
func (s *service) look(ctx context.Context) (one sample, err error) {
	if _, err := get(ctx, s.admin+"/debug/pprof/heap?gc=1"); err != nil {
		return one, fmt.Errorf("collecting garbage: %w", err)
	}
	metrics, err := get(ctx, s.admin+"/metrics")
	if err != nil {
		return one, fmt.Errorf("reading metrics: %w", err)
	}
	for m, line := range map[measure]*regexp.Regexp{liveHeap: heapLine, goroutines: goroutineLine, resident: residentLine} {
		found := line.FindSubmatch(metrics)
		if found == nil {
			return one, fmt.Errorf("reading metrics: there is nothing like %v", line)
		}
		if one[m], err = strconv.ParseFloat(string(found[1]), 64); err != nil {
			return one, fmt.Errorf("reading metrics: %w", err)
		}
	}
	one[liveHeap] /= mega
	one[resident] /= mega
	open, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "fd"))
	if err != nil {
		return one, fmt.Errorf("counting file descriptors: %w", err)
	}
	one[descriptors] = float64(len(open))
	return one, nil
}

// get fetches a page that has to be there.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered with %s", url, resp.Status)
	}
	return data, err
}
