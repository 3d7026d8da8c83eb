package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"siteapi/cmd/internal/harness"
)

// Bounds of the overload. They hold on a small machine that is busy with the load itself.
const (
	admittedWithin = 5 * time.Second // 99 of 100 admitted requests
	pdfWithin      = 8 * time.Second // PDFs wait for their turn first
	memoryBound    = 512             // MiB
)

// load is what came of sending requests.
type load struct {
	all      vegeta.Metrics
	admitted vegeta.LatencyMetrics // of those answered with 200
	served   int
}

// attack sends requests at a rate, 0 for as fast as 64 connections can.
func attack(ctx context.Context, targeter vegeta.Targeter, perSecond int, length time.Duration) load {
	workers := uint64(2000)
	if perSecond == 0 {
		workers = 64
	}
	attacker := vegeta.NewAttacker(vegeta.Workers(64), vegeta.MaxWorkers(workers), vegeta.Connections(2000), vegeta.Timeout(20*time.Second))
	defer attacker.Stop()
	var l load
	for result := range attacker.Attack(targeter, vegeta.Rate{Freq: perSecond, Per: time.Second}, length, "chaos") {
		l.all.Add(result)
		if result.Code == http.StatusOK {
			l.admitted.Add(result.Latency)
			l.served++
		}
		if ctx.Err() != nil {
			attacker.Stop()
		}
	}
	l.all.Close()
	return l
}

// overload offers ten times as many submissions, then PDFs, as the service can take.
func overload(ctx context.Context, t *trial) string {
	s := harness.New(t.binary, t.dir, "GOMAXPROCS=1", "CONTENT_TYPES=heroSection")
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)
	id, _, err := newVisitors(s).send(ctx, 1)
	harness.Check(err)
	var number atomic.Int64
	number.Store(1)
	submissions := func(target *vegeta.Target) error {
		*target = post(s.Base+"/api/quote/submit", submission(int(number.Add(1))))
		return nil
	}
	documents := func(target *vegeta.Target) error { // each is drawn
		*target = vegeta.Target{Method: http.MethodGet, URL: s.Base + "/api/quote/pdf?id=" + id}
		_, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/api/cache/clear?pattern=quote:pdf:*", "", "Authorization: Bearer "+harness.CacheToken)
		return err
	}
	length := time.Duration(t.times(15, 3)) * time.Second
	var summary string
	for _, kind := range []struct {
		name     string
		targeter vegeta.Targeter
		within   time.Duration
	}{{"submissions", submissions, admittedWithin}, {"PDFs", documents, pdfWithin}} {
		calm := attack(ctx, kind.targeter, 0, length/3)
		capacity := float64(calm.served) / (length / 3).Seconds()
		rough := attack(ctx, kind.targeter, int(10*capacity)+1, length)
		p99 := rough.admitted.Quantile(0.99)
		began := time.Now()
		status, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", readQuery)
		harness.Check(err)
		read := time.Since(began)
		summary += fmt.Sprintf("%s: capacity %.0f/s, offered %.0f/s, %v, 99%% of the admitted within %v, a read afterwards within %v; ",
			kind.name, capacity, rough.all.Rate, rough.all.StatusCodes, p99.Round(time.Millisecond), read.Round(time.Millisecond))
		others := maps.Clone(rough.all.StatusCodes)
		maps.DeleteFunc(others, func(code string, _ int) bool { return slices.Contains([]string{"0", "200", "429", "503"}, code) })
		if len(others) > 0 || rough.served == 0 || p99 > kind.within || status != http.StatusOK || read > time.Second {
			harness.Check(errors.New(summary))
		}
	}
	most := s.Memory("VmHWM")
	if summary += fmt.Sprintf("%.0f MiB at most", most); most > memoryBound {
		harness.Check(errors.New(summary))
	}
	return summary
}

func post(url, body string, headers ...string) vegeta.Target {
	h := http.Header{"Content-Type": {"application/json"}}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		h.Set(name, value)
	}
	return vegeta.Target{Method: http.MethodPost, URL: url, Body: []byte(body), Header: h}
}

// soak mixes everything for minutes and compares the first third with the last: memory,
// goroutines and file descriptors must not grow.
func soak(ctx context.Context, t *trial) string {
	s, u, v, end := t.begin(ctx)
	defer end()
	var number atomic.Int64
	mix := func(target *vegeta.Target) error {
		switch n := number.Add(1); n % 10 {
		case 0:
			*target = post(s.Base+"/api/webhooks/cms", `{"_id":"x","_type":"heroSection","language":"ro"}`,
				"Authorization: Bearer "+harness.WebhookToken)
		case 1, 2:
			*target = post(s.Base+"/api/quote/submit", `{"sessionId":"bad","contact":{"email":"@"},"estimate":{"min":-1}}`)
		case 3, 4, 5, 6:
			*target = post(s.Base+"/api/quote/track", fmt.Sprintf(`{"sessionId":"soak-%d","selections":{"projectType":"web-app"}}`, n%5000))
		default:
			*target = post(s.Base+"/graphql", readQuery)
		}
		return nil
	}
	length := t.soak
	if t.short {
		length = 15 * time.Second
	}
	var samples [3][]float64
	for third := range samples {
		l := attack(ctx, mix, 300, length/3)
		if l.all.StatusCodes["0"]+l.all.StatusCodes["500"]+l.all.StatusCodes["503"] > 0 {
			harness.Check(fmt.Errorf("answers: %v", l.all.StatusCodes))
		}
		samples[third] = append(resources(ctx, s), s.Memory("VmRSS"))
	}
	v.end(ctx, u)
	before, after := samples[0], samples[2]
	summary := fmt.Sprintf("%d requests, %d leads; first and last third: goroutines, file descriptors, MiB %.0f and %.0f",
		number.Load(), len(v.acked), before, after)
	if after[0] > 1.3*before[0]+20 || after[1] > before[1]+20 || after[2] > 1.3*before[2]+16 {
		harness.Check(errors.New("it grows: " + summary))
	}
	return summary
}

// resources returns goroutines and open files of the service.
func resources(ctx context.Context, s *harness.Service) (sample []float64) {
	_, metrics, err := harness.Do(ctx, http.MethodGet, s.Admin+"/metrics", "")
	harness.Check(err)
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		_, value, _ := strings.Cut(string(metrics), "\n"+name+" ")
		var number float64
		harness.Must(fmt.Sscan(value, &number))
		sample = append(sample, number)
	}
	return sample
}
