package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"syscall"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// begin starts a service that uses the upstreams, and visitors. end stops all of them. If
// that fails, they are stopped, too.
func (t *trial) begin(
	ctx context.Context, u *upstreams, env ...string,
) (s *harness.Service, v *visitors, end func()) {
	s = harness.New(t.binary, t.dir,
		append(u.env(), append([]string{"CONTENT_TYPES=heroSection"}, env...)...)...)
	end = func() {
		if v != nil {
			v.stop()
		}
		s.Stop(syscall.SIGKILL)
		u.close()
	}

	err := harness.Run(func() {
		s.Command(ctx, "crm", "setup")
		s.Run(ctx)
		v = newVisitors(ctx, s)
		v.await(ctx, v.reads, http.StatusOK, 1)
	})
	if err != nil {
		end()
		harness.Check(err)
	}
	return s, v, end
}

// kills repeatedly kills the process, every fourth time while it starts. Meanwhile half
// of all calls to the CMS and the CRM fail, and some to the mail server.
func kills(ctx context.Context, t *trial) string {
	u := newUpstreams()
	u.mail = harness.Must(smtptest.Start(smtptest.Options{}))
	s, v, end := t.begin(ctx, u)
	defer end()
	u.failRandomly()

	n := t.times(100, 6)
	for i := range n {
		life := rand.N(1500 * time.Millisecond)
		if i%4 == 3 { // still starting
			life /= 5
		} else {
			s.Ready(ctx)
		}

		sleep(ctx, life)
		s.Stop(syscall.SIGKILL)
		harness.Check(ctx.Err())
		s.Start()
	}

	s.Ready(ctx)
	u.cms.Recover()
	u.crm.Recover()

	// A mail that was handed over when the process was killed waits an hour for its
	// repetition, unless an operator retries it.
	u.mail.Heal()
	began := time.Now()
	v.end(ctx, u, "deliveries", "retry", "--all")
	return fmt.Sprintf("%d kills, %d leads acknowledged and delivered, %d mails, the last after %v",
		n, len(v.acked), len(u.mail.Mails()), time.Since(began).Round(time.Second))
}

// servers starts PostgreSQL and Valkey, and returns a function that stops and removes
// them.
func (t *trial) servers() (pg *pgserver.Server, valkey *valkeyserver.Server, remove func()) {
	pg, err := pgserver.New()
	valkey, err2 := valkeyserver.New(t.dir)
	needs(errors.Join(err, err2))

	remove = func() {
		valkey.Stop()
		_ = pg.Remove()
	}
	if err := errors.Join(os.MkdirAll(t.dir, 0o750), pg.Up(), valkey.Start()); err != nil {
		remove()
		harness.Check(err)
	}
	return pg, valkey, remove
}

// flapping stops and starts Valkey and PostgreSQL under load, separately and together.
func flapping(ctx context.Context, t *trial) string {
	pg, valkey, remove := t.servers()
	defer remove()

	u := newUpstreams()
	_, v, end := t.begin(ctx, u, "DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+valkey.URL())
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
	checkStatuses(v.reads, http.StatusOK)
	return fmt.Sprintf("stopped and started %d times, %d leads acknowledged, all %d reads succeeded",
		n, len(v.acked), v.reads[http.StatusOK])
}
