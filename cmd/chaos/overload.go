package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of the scenario overload. They hold on a small machine that is busy with the
// load itself.
const (
	aim             = 12                     // times the capacity, as late answers cost the load some turns
	capacityLoad    = 400                    // connections that keep the service busy
	overloadClients = 2000                   // connections of the overload
	admittedWithin  = 5 * time.Second        // 99 of 100 admitted submissions
	shedWithin      = time.Second            // 99 of 100 refused ones
	drawnWithin     = 8 * time.Second        // 99 of 100 PDFs, admitted or refused: they wait for their turn first
	afterwards      = 500 * time.Millisecond // a request once it is over
	memoryBound     = 512                    // megabytes
)

// overload first measures how many submissions a second the service takes, and then
// sends ten times as many for a while, without waiting for answers to earlier ones.
// Then it does the same with PDFs, of which a second has fewer.
func overload(ctx context.Context, t *trial) (o outcome, err error) {
	o.Tried = "ten times as many submissions and PDFs as it can take"
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	// One processor, so that the load has the rest. Deliveries are not what is measured.
	env := append(far.settings(), "GOMAXPROCS=1", "DELIVERY_RATE=1", "CONTENT_TYPES=heroSection")
	s, err := newService(ctx, t.binary, t.dir, env...)
	if err != nil {
		return o, err
	}
	if err := s.start(); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.end(syscall.SIGKILL)) }()
	if err := s.ready(ctx, time.Minute); err != nil {
		return o, err
	}
	storm := newStorm(s.base)
	errs := []error{t.overloadWith(ctx, &o, s, storm, "submissions", admittedWithin, shedWithin, storm.submission)}
	if storm.first = storm.ids; len(storm.first) == 0 {
		return o, errors.Join(append(errs, errors.New("no submission was acknowledged"))...)
	}
	o.Acknowledged = len(storm.first)
	errs = append(errs, t.overloadWith(ctx, &o, s, storm, "PDFs", drawnWithin, drawnWithin, storm.document))
	stored, err := s.readLedger(ctx)
	if err != nil {
		return o, err
	}
	for _, id := range storm.first {
		if len(stored[id]) != 2 {
			o.Lost++
		}
	}
	most, err := memory(s.pid(), "VmHWM")
	if err != nil {
		return o, err
	}
	o.note("%d MB of memory at most", most)
	if most > memoryBound {
		errs = append(errs, fmt.Errorf("%d MB of memory", most))
	}
	return o, errors.Join(errs...)
}

// overloadWith overloads with one kind of request and says what did not hold.
func (t *trial) overloadWith(ctx context.Context, o *outcome, s *service, storm *storm, what string, patiently, quickly time.Duration, next func() ([]byte, error)) error {
	length := time.Duration(t.times(15, 3)) * time.Second
	calm := storm.blow(ctx, capacityLoad, 0, length/3, next)
	capacity := float64(calm.answers[http.StatusOK]) / (length / 3).Seconds()
	watch := newCrowd(s.base, false)
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { watch.look(watching) })
	rough := storm.blow(ctx, overloadClients, aim*capacity, length, next)
	stop()
	group.Wait()
	began := time.Now()
	status, _ := watch.post(ctx, "/graphql", readQuery)
	recovered := time.Since(began)

	o.Times += rough.sent
	admitted, shed := rough.times[true], rough.times[false]
	offered := float64(rough.sent) / length.Seconds()
	o.note("%s: capacity %.0f/s, offered %.0f/s (%.1f times), admitted %.0f/s with p99 %v, shed %.0f/s with p50 %v and p99 %v, %d without answer; content %v",
		what, capacity, offered, offered/capacity, float64(len(admitted))/length.Seconds(), part(admitted, 99),
		float64(len(shed))/length.Seconds(), part(shed, 50), part(shed, 99), rough.answers[0], watch.reads)
	var errs []error
	claim := func(good bool, format string, args ...any) {
		if !good {
			errs = append(errs, fmt.Errorf(what+": "+format, args...))
		}
	}
	claim(unless(rough.answers, 0, 200, 429, 503) == 0, "answers other than 200, 429 and 503: %v", rough.answers)
	claim(rough.answers[0]*100 <= rough.sent, "%d of %d requests without an answer", rough.answers[0], rough.sent)
	claim(part(admitted, 99) <= patiently, "99 of 100 admitted requests took up to %v", part(admitted, 99))
	claim(part(shed, 99) <= quickly, "99 of 100 refusals took up to %v", part(shed, 99))
	claim(len(admitted) > 0, "nothing was admitted")
	claim(status == http.StatusOK && recovered <= afterwards, "afterwards a read was answered with %d after %v", status, recovered)
	claim(unless(watch.reads, 200, 503) == 0, "content was answered with %v", watch.reads)
	return errors.Join(errs...)
}

// part returns the time that so many of 100 requests were at most answered in.
func part(times []time.Duration, of100 int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)*of100/100].Round(100 * time.Microsecond)
}

// memory reads a line of /proc/…/status, in megabytes.
func memory(pid int, name string) (int, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("reading how much memory the service has: %w", err)
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(data)
	if m == nil {
		return 0, fmt.Errorf("the system does not tell %s", name)
	}
	kilobytes, err := strconv.Atoi(string(m[1]))
	return kilobytes >> 10, err
}

// storm sends submissions on many connections, each a lead of its own.
type storm struct {
	addr    string
	numbers atomic.Int64

	mu  sync.Mutex
	ids []string // acknowledged

	first []string // those that documents are asked for
}

func newStorm(base string) *storm { return &storm{addr: base[len("http://"):]} }

// gust is what came of a load.
type gust struct {
	sent    int
	answers map[int]int              // by status; 0: none
	times   map[bool][]time.Duration // of those admitted and of those refused
}

// blow sends for a while over a number of connections, so many requests a second in
// all; 0: each sends as soon as it has an answer. A connection whose answer is late
// skips its turn: that many requests were then never offered.
func (s *storm) blow(ctx context.Context, connections int, rate float64, length time.Duration, next func() ([]byte, error)) gust {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		all   = gust{answers: map[int]int{}, times: map[bool][]time.Duration{}}
		pace  time.Duration
	)
	if rate > 0 {
		pace = time.Duration(float64(connections) / rate * float64(time.Second))
	}
	for n := range connections {
		group.Go(func() {
			pause(ctx, pace*time.Duration(n)/time.Duration(connections)) // spread over one turn
			one := s.connection(ctx, pace, next)
			mu.Lock()
			defer mu.Unlock()
			all.sent += one.sent
			for status, n := range one.answers {
				all.answers[status] += n
			}
			for admitted, times := range one.times {
				all.times[admitted] = append(all.times[admitted], times...)
			}
		})
	}
	group.Wait()
	return all
}
