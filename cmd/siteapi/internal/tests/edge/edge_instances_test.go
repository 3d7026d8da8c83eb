package edge

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestEdgeIsNotifiedAfterKill kills a process that already serves new content, before it
// can purge the old content. Another instance purges it, or the same one after its next
// start.
func TestEdgeIsNotifiedAfterKill(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another instance %v", other), func(t *testing.T) {
			t.Parallel()
			stub, vendors := newEdgeStub(t), apptest.NewVendors(t)
			vendors.Publish("first title")
			env := vendors.Env(append(stub.env(), "DATABASE_URL="+server.NewDatabase(t))...)
			if other {
				env = append(env, "CACHE_URL="+valkeyserver.Start(t).URL())
			}

			dir := t.TempDir()
			r := apptest.Launch(t, dir, env...)
			r.Shows("first title")
			if other {
				apptest.Launch(t, t.TempDir(), env...).Shows("first title")
			}
			stub.isNotified(t, "the content after the first start")
			time.Sleep(4 * time.Second) // the second notification is sent within this time
			stub.since()

			stub.set(true)
			vendors.Publish("second title")
			r.Do("POST", "/api/webhooks/cms", `{"_id":"h","_type":"heroSection","language":"es"}`, apptest.HookAuth)
			r.Shows("second title")
			_ = r.End(syscall.SIGKILL)
			stub.set(false)
			if !other {
				apptest.Launch(t, dir, env...)
			}
			stub.isNotified(t, "the change before the kill")
		})
	}
}

// TestChangesWhileTheDatabaseIsAway publishes while the database is stopped. The content is
// up to date at once, the webhook answers 503 so that the CMS repeats it, and the edge is
// notified soon after the database is back, even if no webhook comes again.
func TestChangesWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	stub, vendors := newEdgeStub(t), apptest.NewVendors(t)
	vendors.Publish("first title")
	server := pgserver.Start(t)
	env := vendors.Env(append(stub.env(), "DATABASE_URL="+server.NewDatabase(t), "CMS_WATCH=off")...)
	r := apptest.Launch(t, t.TempDir(), env...)
	stub.isNotified(t, "the content after the first start")
	time.Sleep(4 * time.Second) // the second notification is sent within this time
	stub.since()

	server.Stop(t)
	vendors.Publish("second title")
	for _, route := range []struct{ path, body, auth string }{
		{"/api/webhooks/cms", `{"_id":"h","_type":"heroSection"}`, apptest.HookAuth},
		{"/api/cache/invalidate", `{"type":"all"}`, apptest.CacheAuth},
		{"/api/cache/clear?all=true", ``, apptest.CacheAuth},
	} {
		if got := r.Do("POST", route.path, route.body, route.auth); got.Status != 503 {
			t.Errorf("%s without the database: %s", route.path, got)
		}
	}
	r.Shows("second title")

	server.Start(t)
	began := time.Now()
	stub.isNotified(t, "the change during the outage")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the edge was notified %v after the database was back", took)
	}
}
