package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"siteapi/cmd/internal/harness"
)

// load is the result of an attack.
type load struct {
	all      vegeta.Metrics
	admitted vegeta.LatencyMetrics // latencies of requests with the status 200
	leads    []string              // ids in these responses
}

// attack sends requests at a rate per second, or as fast as the workers can if it is 0.
func attack(
	ctx context.Context, targeter vegeta.Targeter, workers uint64, perSecond int, length time.Duration,
) (l load) {
	client := &http.Client{
		Timeout:   20 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: int(workers)},
	}
	defer client.CloseIdleConnections() // the service limits them

	attacker := vegeta.NewAttacker(vegeta.MaxWorkers(workers), vegeta.Client(client))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()

	for result := range attacker.Attack(
		targeter, vegeta.Rate{Freq: perSecond, Per: time.Second}, length, "chaos",
	) {
		l.all.Add(result)
		if result.Code == http.StatusOK {
			l.admitted.Add(result.Latency)
			if id := leadID(result.Body); id != "" {
				l.leads = append(l.leads, id)
			}
		}
	}

	l.all.Close()
	return l
}

func post(url, token, body string) vegeta.Target {
	return vegeta.Target{Method: http.MethodPost, URL: url, Body: []byte(body), Header: harness.Header(token)}
}

// overload lets 2,000 clients send leads and then fetch PDFs as fast as they can. Its
// limits allow for a small machine that also generates the load.
func overload(ctx context.Context, t *trial) string {
	s := harness.New(t.binary, t.dir, "GOMAXPROCS=1", "CONTENT_TYPES=heroSection")
	s.Run(ctx)
	defer s.Stop(syscall.SIGKILL)

	var number atomic.Int64
	var leads []string
	sendLeads := func(target *vegeta.Target) error {
		*target = post(s.Base+"/api/quote/submit", "", leadBody(int(number.Add(1))))
		return nil
	}

	// The PDFs of all leads are fetched in turn. The cache is cleared before each turn,
	// so that all of them are rendered.
	fetchPDFs := func(target *vegeta.Target) (err error) {
		n := int(number.Add(1)) % len(leads)
		if n == 0 {
			_, _, err = harness.Do(ctx, http.MethodPost,
				s.Base+"/api/cache/clear?pattern=quote:pdf:*", harness.CacheToken, "")
		}
		*target = vegeta.Target{Method: http.MethodGet, URL: s.Base + "/api/quote/pdf?id=" + leads[n]}
		return err
	}

	length := time.Duration(t.times(15, 3)) * time.Second
	var summary string
	for _, kind := range []struct {
		name     string
		targeter vegeta.Targeter
	}{{"leads", sendLeads}, {"PDFs", fetchPDFs}} {
		l := attack(ctx, kind.targeter, 2000, 0, length)
		p99, codes := l.admitted.Quantile(0.99), l.all.StatusCodes
		leads = append(leads, l.leads...)

		began := time.Now()
		status, _, err := harness.Do(ctx, http.MethodPost, s.Base+"/graphql", "", readQuery)
		harness.Check(err)
		read := time.Since(began)

		summary += fmt.Sprintf("%s: %.0f responses/s, %v, "+
			"p99 of admitted requests %v, a read afterward %v; ",
			kind.name, l.all.Rate, codes, p99.Round(time.Millisecond), read.Round(time.Millisecond))

		// Without refused requests there was no overload.
		refused := codes["429"] + codes["503"]
		others := l.all.Requests - uint64(codes["0"]+codes["200"]+refused)
		if others > 0 || codes["200"] == 0 || refused == 0 || p99 > 10*time.Second ||
			status != http.StatusOK || read > time.Second {
			harness.Failf("%s", summary)
		}
	}

	_, most := s.Memory()
	if summary += fmt.Sprintf("at most %.0f MiB", most); most > 512 {
		harness.Failf("%s", summary)
	}
	return summary
}
