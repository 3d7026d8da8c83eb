package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/store/storetest/pgserver"
)

// begin starts stubs of both vendors, a service with them, and visitors, until end is called.
func (t *trial) begin(ctx context.Context, env ...string) (s *harness.Service, u *harness.Upstreams, v *visitors, end func()) {
	u = harness.NewUpstreams()
	s = harness.New(t.binary, t.dir, append(u.Env(), append([]string{"CONTENT_TYPES=heroSection"}, env...)...)...)
	s.Command(ctx, "crm", "setup")
	s.Run(ctx)
	v = newVisitors(s)
	v.begin(ctx)
	v.await(ctx, v.reads, http.StatusOK, 1)
	return s, u, v, func() {
		v.stop()
		s.Stop(syscall.SIGKILL)
		u.Close()
	}
}

// kills ends the process without warning, again and again, some of the times while it
// starts, while half of all calls to CMS and CRM fail.
func kills(ctx context.Context, t *trial) string {
	s, u, v, end := t.begin(ctx)
	defer end()
	u.FailRandomly(0.5, t.rand.Uint64())
	n := t.times(100, 6)
	var slowest time.Duration
	for i := range n {
		life := time.Duration(t.rand.Int64N(int64(1500 * time.Millisecond)))
		if i%4 == 3 { // during the start
			life /= 5
		} else {
			s.Ready(ctx)
		}
		sleep(ctx, life)
		s.Stop(syscall.SIGKILL)
		harness.Check(ctx.Err())
		began := time.Now()
		s.Start()
		if i%4 != 2 { // the next one is killed while it starts
			s.Ready(ctx)
			slowest = max(slowest, time.Since(began))
		}
	}
	s.Ready(ctx)
	u.Recover()
	last := time.Now()
	v.end(ctx, u)
	return fmt.Sprintf("%d kills, %d leads acknowledged, restart to first answer at most %v, all delivered %v after the last kill",
		n, len(v.acked), slowest.Round(time.Millisecond), time.Since(last).Round(time.Second))
}

// flapping stops and starts Valkey and PostgreSQL under load, alone and together.
func flapping(ctx context.Context, t *trial) string {
	pg, err := pgserver.New()
	valkey, err2 := valkeyserver.New(t.dir)
	t.needs(errors.Join(err, err2))
	defer func() { _ = pg.Remove() }()
	harness.Check(os.MkdirAll(t.dir, 0o750))
	harness.Check(pg.Up())
	harness.Check(valkey.Start())
	defer valkey.Stop()
	_, u, v, end := t.begin(ctx, "DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+valkey.URL())
	defer end()
	n := t.times(20, 3)
	for i := range n {
		if i%3 != 1 {
			valkey.Stop()
		}
		if i%3 != 0 {
			harness.Check(pg.End([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[i%2]))
		}
		sleep(ctx, time.Second)
		harness.Check(valkey.Start())
		if i%3 != 0 {
			harness.Check(pg.Up())
		}
		v.await(ctx, v.statuses, http.StatusOK, 10)
	}
	v.end(ctx, u)
	v.only(v.reads, http.StatusOK)
	return fmt.Sprintf("%d times stopped and started, %d leads acknowledged, all %d reads answered",
		n, len(v.acked), v.reads[http.StatusOK])
}
