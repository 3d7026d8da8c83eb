package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// begin starts stubs of both vendors, a service with them, and visitors.
func (t *trial) begin(ctx context.Context, env ...string) (*harness.Service, *harness.Upstreams, *visitors, error) {
	u, err := harness.NewUpstreams(sanitytest.Options{}, hubspottest.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := harness.New(t.binary, t.dir, append(u.Env(), append([]string{"CONTENT_TYPES=heroSection"}, env...)...)...)
	if err != nil {
		return nil, nil, nil, err
	}
	if _, err := s.Command(ctx, "crm", "setup"); err != nil {
		return nil, nil, nil, err
	}
	if err := s.Run(ctx); err != nil {
		return nil, nil, nil, err
	}
	v := newVisitors(s)
	v.begin(ctx)
	return s, u, v, v.await(ctx, v.reads, http.StatusOK, 1)
}

// kills ends the process without warning, again and again, some of the times while it
// starts, while half of all calls to CMS and CRM fail.
func kills(ctx context.Context, t *trial) (string, error) {
	s, u, v, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer u.Close()
	defer func() { s.Stop(syscall.SIGKILL) }()
	u.FailRandomly(0.5, t.rand.Uint64())
	n := t.times(100, 6)
	var slowest time.Duration
	for i := range n {
		life := time.Duration(t.rand.Int64N(int64(1500 * time.Millisecond)))
		if i%4 == 3 { // during the start
			life = time.Duration(t.rand.Int64N(int64(300 * time.Millisecond)))
		} else if err := s.Ready(ctx); err != nil {
			return "", err
		}
		sleep(ctx, life)
		s.Stop(syscall.SIGKILL)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		began := time.Now()
		if err := s.Start(); err != nil {
			return "", err
		}
		if i%4 != 2 { // the next one is killed while it starts
			if err := s.Ready(ctx); err != nil {
				return "", err
			}
			slowest = max(slowest, time.Since(began))
		}
	}
	if err := s.Ready(ctx); err != nil {
		return "", err
	}
	u.Recover()
	last := time.Now()
	err = v.end(ctx, u, 90*time.Second)
	return fmt.Sprintf("%d kills, %d leads acknowledged, restart to first answer at most %v, all delivered %v after the last kill",
		n, len(v.acked), slowest.Round(time.Millisecond), time.Since(last).Round(time.Second)), err
}

// flapping stops and starts Valkey and PostgreSQL under load, alone and together.
func flapping(ctx context.Context, t *trial) (string, error) {
	pg, err := pgserver.New()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNotRun, err)
	}
	defer func() { _ = pg.Remove() }()
	if err := pg.Up(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "siteapi-chaos-valkey-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	valkey, err := valkeyserver.New(dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNotRun, err)
	}
	if err := valkey.Start(); err != nil {
		return "", err
	}
	defer valkey.Stop()
	s, u, v, err := t.begin(ctx, "DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+valkey.URL())
	if err != nil {
		return "", err
	}
	defer u.Close()
	defer func() { s.Stop(syscall.SIGKILL) }()
	n := t.times(20, 3)
	for i := range n {
		if i%3 != 1 {
			valkey.Stop()
		}
		if i%3 != 0 {
			if err := pg.End([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[i%2]); err != nil {
				return "", err
			}
		}
		sleep(ctx, time.Second)
		if i%3 != 1 {
			if err := valkey.Start(); err != nil {
				return "", err
			}
		}
		if i%3 != 0 {
			if err := pg.Up(); err != nil {
				return "", err
			}
		}
		if err := v.await(ctx, v.statuses, http.StatusOK, 10); err != nil {
			return "", err
		}
	}
	err = v.end(ctx, u, 90*time.Second)
	if err == nil {
		err = v.onlyStatuses(v.reads, http.StatusOK)
	}
	return fmt.Sprintf("%d times stopped and started, %d leads acknowledged, %d of %d reads answered",
		n, len(v.acked), v.reads[http.StatusOK], v.reads[http.StatusOK]), err
}
