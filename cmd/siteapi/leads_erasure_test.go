package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store"
)

// A delivery that waits never arrives after the erasure; one that is being tried is
// waited for.
func TestEraseBeforeDelivery(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	far.crm.Fail(hubspottest.Hang().Times(1))
	id := s.submit(t, "hers")
	eventually(t, "the CRM is being told", func() bool { return s.deliveries(id)["crm"].State == "running" })
	began := time.Now()
	r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
	if err != nil || !r.Complete {
		t.Errorf("%v %+v", err, r)
	}
	t.Logf("waited %v for the try", time.Since(began).Round(time.Millisecond))
	far.recover()
	time.Sleep(500 * time.Millisecond)
	if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers")) != 0 {
		t.Error("a delivery arrived after the erasure")
	}
	if list, err := s.siteapi("deliveries", "list", "--json", "--state", "all"); err != nil || strings.TrimSpace(list) != "[]" {
		t.Errorf("left in the queue: %v %s", err, list)
	}
}

// A document that only the CMS knows is found by its address.
func TestEraseWhatTheDatabaseForgot(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	hers, _ := s.populate(t)
	for _, id := range hers {
		if err := s.app.data.archive.Erase(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
	if err != nil || r.at("documents").Erased != 2 || r.at("submissions").State != holdingEmpty || len(far.documents("hers")) != 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// The memory of a running service has to be reached for a complete erasure.
func TestEraseWithoutTheService(t *testing.T) {
	t.Parallel()
	other := func(status int, body string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return httpServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
		}
	}
	for name, c := range map[string]struct {
		server func(t *testing.T) string
		want   string
	}{
		"nobody listens": {func(*testing.T) string { return "http://127.0.0.1:1" }, "does not answer"},
		"another token":  {other(401, `{}`), "another CACHE_API_TOKEN"},
		"another server": {other(200, `<html>`), "is not this service"},
		"overload":       {other(429, `{}`), "answers 429"},
		"trouble":        {other(503, `{}`), "answers 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, nil, quick)
			hers, theirs := s.populate(t)
			r, err := s.erase(t, "hers@example.com", "--yes", "--server", c.server(t))
			if p := r.at("PDFs"); exitCode(err) != exitFailed || err == nil || r.Complete || p.State != holdingFailed || !strings.Contains(p.Detail, c.want) {
				t.Errorf("%v %+v, want %q", err, p, c.want)
			}
			r, err = s.erase(t, "hers@example.com", "--yes", "--server", s.base)
			if p := r.at("PDFs"); err != nil || !r.Complete || p.Erased < 2 {
				t.Errorf("the repetition: %v %+v", err, p)
			}
			s.checkGone(t, hers, theirs)
		})
	}
}

// cutShort is a far end that is reached when an erasure is cut short.
type cutShort struct {
	erasableCMS
	erase func(ctx context.Context, ids []string) error
}

func (c cutShort) Erase(ctx context.Context, ids []string) error { return c.erase(ctx, ids) }

// erasure returns one over the parts of a service that does its work.
func (s *service) erasure(t *testing.T) *erasure {
	t.Helper()
	documents, err := openCMS(s.app.settings, s.app.log, nil)
	if err != nil {
		t.Fatal(err)
	}
	contacts, err := openCRM(s.app.settings, s.app.log, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	pdfs, err := newPDFCache(s.app.settings, s.app.log, s.base)
	if err != nil {
		t.Fatal(err)
	}
	return &erasure{
		email: "hers@example.com", cms: documents.(erasableCMS), crm: contacts.(erasableCRM), pdfs: pdfs, data: s.app.data, tryTime: time.Second,
		pause: 10 * time.Millisecond, say: func(string) {}, shrink: func(context.Context) error { return nil },
		receipt: receipt{Erasing: true},
	}
}

// An erasure that was cut short at any point is completed by the next one.
func TestEraseCutShort(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	hers, theirs := s.populate(t)
	for name, after := range map[string]bool{"before the documents are gone": false, "after the documents are gone": true} {
		e := s.erasure(t)
		ctx, cut := context.WithCancel(t.Context())
		whole := e.cms
		e.cms = cutShort{whole, func(ctx context.Context, ids []string) error {
			var err error
			if after {
				err = whole.Erase(ctx, ids)
			}
			cut()
			return errors.Join(err, ctx.Err())
		}}
		if err := e.run(ctx); e.receipt.verdict() == nil {
			t.Errorf("%s: %v, it calls itself complete", name, err)
		}
		if !s.has(t, hers[0]) {
			t.Errorf("%s: the database forgot first", name)
		}
	}
	e := s.erasure(t)
	if err := e.run(t.Context()); err != nil || e.receipt.verdict() != nil {
		t.Errorf("the next one: %v %+v", err, e.receipt)
	}
	s.checkGone(t, hers, theirs)
	if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers"))+len(far.documents("hers-2")) != 0 {
		t.Error("the far ends hold something still")
	}
}

// A lead that comes in while its address is being erased is not passed over.
func TestEraseWhileALeadArrives(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	e := s.erasure(t)
	whole := e.cms
	e.cms = cutShort{whole, func(ctx context.Context, ids []string) error {
		again := lead("hers-3")
		again["contact"].(object)["email"] = "hers@example.com"
		s.through("REST", "submitQuote", object{"input": again})
		return whole.Erase(ctx, ids)
	}}
	err := e.run(t.Context())
	if p := e.receipt.at("submissions"); err != nil || e.receipt.verdict() == nil || p.State != holdingFailed || !strings.Contains(p.Detail, "arrived meanwhile") {
		t.Errorf("%v %+v", err, p)
	}
}

// Trouble of the database itself ends the erasure with an error.
func TestEraseWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	e := s.erasure(t)
	e.shrink = func(context.Context) error { return store.ErrUnavailable }
	if err := e.run(t.Context()); err != nil || e.receipt.at("submissions").State != holdingFailed || e.receipt.verdict() == nil {
		t.Errorf("%v %+v", err, e.receipt.at("submissions"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.erasure(t).run(ctx); err == nil {
		t.Error("an erasure without a database succeeded")
	}
	out, err := s.siteapiWith(map[string]string{"DATA_DIR": t.TempDir()}, "leads", "erase", "--email", "a@b.co")
	if err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Errorf("%v %s", err, out)
	}
}

// The try of a process that died is waited for no longer than a living one could take.
func TestEraseBesideADeadProcess(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	id := s.submit(t, "hers")
	eventually(t, "it arrives", func() bool {
		return s.deliveries(id)["crm"].State == "delivered" && s.deliveries(id)["cms"].State == "delivered"
	})
	s.stop()
	s.damage(t, `UPDATE river_job SET state = 'running', finalized_at = NULL, attempted_at = CURRENT_TIMESTAMP WHERE queue = 'crm'`)
	settings, err := config.Read(func(name string) string { return s.env[name] })
	if err != nil {
		t.Fatal(err)
	}
	d, err := openExisting(t.Context(), settings, s.app.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }()
	s.app.data = d
	e := s.erasure(t)
	told := ""
	e.say, e.tryTime = func(text string) { told = text }, 300*time.Millisecond
	if err := e.run(t.Context()); err != nil || e.receipt.verdict() != nil || !strings.Contains(told, "waiting for 1 deliveries") {
		t.Errorf("%v %+v, said %q", err, e.receipt, told)
	}
	if s.has(t, id) || len(far.contacts("hers@example.com")) != 0 {
		t.Error("something is left")
	}
}
