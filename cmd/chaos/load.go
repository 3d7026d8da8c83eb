package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
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
func overload(ctx context.Context, t *trial) (string, error) {
	s, err := harness.New(t.binary, t.dir, "GOMAXPROCS=1", "CONTENT_TYPES=heroSection")
	if err != nil {
		return "", err
	}
	if err := s.Run(ctx); err != nil {
		return "", err
	}
	defer func() { s.Stop(syscall.SIGKILL) }()
	v := newVisitors(s)
	id, _, err := v.send(ctx, 1)
	if err != nil {
		return "", err
	}
	var number atomic.Int64
	number.Store(1)
	submissions := func(target *vegeta.Target) error {
		*target = vegeta.Target{
			Method: http.MethodPost, URL: s.Base + "/api/quote/submit", Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(submission(int(number.Add(1)))),
		}
		return nil
	}
	documents := func(target *vegeta.Target) error { // never the same content twice, so that each is drawn
		if _, err := clearPDFs(ctx, s); err != nil {
			return err
		}
		*target = vegeta.Target{Method: http.MethodGet, URL: s.Base + "/api/quote/pdf?id=" + id}
		return nil
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
		summary += fmt.Sprintf("%s: capacity %.0f/s, offered %.0f/s, %v, 99%% of the admitted within %v; ",
			kind.name, capacity, rough.all.Rate, rough.all.StatusCodes, p99.Round(time.Millisecond))
		for code := range rough.all.StatusCodes {
			switch code {
			case "0", "200", "429", "503":
			default:
				return summary, fmt.Errorf("%s are answered with %s", kind.name, code)
			}
		}
		if rough.served == 0 || p99 > kind.within {
			return summary, fmt.Errorf("%d %s were admitted, 99%% within %v", rough.served, kind.name, p99)
		}
		began := time.Now()
		status, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", readQuery)
		if took := time.Since(began); status != http.StatusOK || took > time.Second {
			return summary, fmt.Errorf("afterwards a read is answered with %d after %v: %w", status, took, errors.Join(err))
		}
	}
	most, err := s.Memory("VmHWM")
	if err == nil && most > memoryBound {
		err = fmt.Errorf("%.0f MiB of memory", most)
	}
	return summary + fmt.Sprintf("%.0f MiB at most", most), err
}

func clearPDFs(ctx context.Context, s *harness.Service) (int, error) {
	status, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/api/cache/clear?pattern=quote:pdf:*", "", "Authorization: Bearer "+harness.CacheToken)
	return status, err
}

// soak mixes everything for minutes and compares the first third with the last: memory,
// goroutines and file descriptors must not grow.
func soak(ctx context.Context, t *trial) (string, error) {
	s, u, v, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer u.Close()
	defer func() { s.Stop(syscall.SIGKILL) }()
	var number atomic.Int64
	mix := func(target *vegeta.Target) error {
		n := number.Add(1)
		json := http.Header{"Content-Type": {"application/json"}}
		*target = vegeta.Target{Method: http.MethodPost, Header: json}
		switch n % 10 {
		case 0:
			target.URL, target.Body = s.Base+"/api/webhooks/cms", []byte(`{"_id":"x","_type":"heroSection","language":"ro"}`)
			target.Header = http.Header{"Content-Type": json["Content-Type"], "Authorization": {"Bearer " + harness.WebhookToken}}
		case 1, 2:
			target.URL, target.Body = s.Base+"/api/quote/submit", []byte(`{"sessionId":"bad","contact":{"email":"@"},"estimate":{"min":-1}}`)
		case 3, 4, 5, 6:
			target.URL, target.Body = s.Base+"/api/quote/track", fmt.Appendf(nil, `{"sessionId":"soak-%d","selections":{"projectType":"web-app"}}`, n%5000)
		default:
			target.URL, target.Body = s.Base+"/graphql", []byte(readQuery)
		}
		return nil
	}
	length := t.soak
	if t.short {
		length = 15 * time.Second
	}
	var before, after [3]float64
	var sent uint64
	for third := range 3 {
		l := attack(ctx, mix, 300, length/3)
		sent += l.all.Requests
		if l.all.StatusCodes["0"]+l.all.StatusCodes["500"]+l.all.StatusCodes["503"] > 0 {
			return "", fmt.Errorf("answers: %v", l.all.StatusCodes)
		}
		sample, err := resources(ctx, s)
		if err != nil {
			return "", err
		}
		if third == 0 {
			before = sample
		}
		after = sample
	}
	err = v.end(ctx, u, 90*time.Second)
	summary := fmt.Sprintf("%d requests, %d leads; first against last third: %.0f to %.0f MiB, %.0f to %.0f goroutines, %.0f to %.0f file descriptors",
		sent, len(v.acked), before[0], after[0], before[1], after[1], before[2], after[2])
	if after[0] > 1.3*before[0]+16 || after[1] > 1.3*before[1]+20 || after[2] > before[2]+20 {
		err = errors.Join(err, errors.New("it grows"))
	}
	return summary, err
}

// resources returns resident memory in MiB, goroutines and open files of the service.
func resources(ctx context.Context, s *harness.Service) (sample [3]float64, err error) {
	if sample[0], err = s.Memory("VmRSS"); err != nil {
		return sample, err
	}
	_, metrics, err := harness.Do(ctx, http.MethodGet, s.Admin+"/metrics", "")
	if err != nil {
		return sample, err
	}
	for i, name := range []string{"go_goroutines", "process_open_fds"} {
		found := regexp.MustCompile(`(?m)^` + name + ` (\d+)`).FindSubmatch(metrics)
		if found == nil {
			return sample, fmt.Errorf("the metrics lack %s", name)
		}
		if sample[i+1], err = strconv.ParseFloat(string(found[1]), 64); err != nil {
			return sample, err
		}
	}
	return sample, nil
}
