package edge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// quiet waits until nothing is told any more, and returns what was told of content:locale:es.
func (e *edgeStub) quiet() (purges []string) {
	for {
		time.Sleep(4 * time.Second) // longer than the window and the repetition
		p, events := e.told()
		if len(p)+len(events) == 0 {
			return purges
		}
		purges = append(purges, slices.DeleteFunc(p, func(keys string) bool {
			return !strings.Contains(keys, "content:locale:es")
		})...)
	}
}

// edgeEnv are the settings of an instance with the stubs of all vendors and of the edge.
func edgeEnv(vendors *apptest.Vendors, stub *edgeStub, more map[string]string) []string {
	env := stub.env()
	maps.Copy(env, more)
	return vendors.Environ(env)
}

// publishAt makes a title the content, and sends the webhook to an instance.
func publishAt(r *apptest.Process, vendors *apptest.Vendors, title string) {
	r.T.Helper()
	vendors.Published(title)
	got := r.Do("POST", "/api/webhooks/cms", `{"_id":"h","_type":"heroSection","language":"es"}`, apptest.HookAuth)
	if got.Status != 200 {
		r.T.Fatalf("webhook: %d %s", got.Status, got.Body)
	}
}

// TestEdgeIsToldAfterKill kills the process that serves new content already, before it could
// have the old one purged. Another one does, or the same one after its next start.
func TestEdgeIsToldAfterKill(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another instance %v", other), func(t *testing.T) {
			t.Parallel()
			stub, vendors := newEdgeStub(t), apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
			vendors.Published("first title")
			more := map[string]string{"DATABASE_URL": server.NewDatabase(t)}
			if other {
				more["CACHE_URL"] = valkeyserver.Start(t).URL()
			}

			dir, env := t.TempDir(), edgeEnv(vendors, stub, more)
			r := apptest.Launch(t, dir, env...)
			r.Shows("first title")
			if other {
				apptest.Launch(t, t.TempDir(), env...).Shows("first title")
			}
			stub.quiet()

			stub.set(true)
			publishAt(r, vendors, "second title")
			r.Shows("second title")
			_ = r.End(syscall.SIGKILL)
			stub.set(false)
			if !other {
				apptest.Launch(t, dir, env...)
			}
			stub.isTold(t, "what the killed process did not tell")
		})
	}
}

// both are two instances of one site.
type both [2]*apptest.Process

// show waits until both show a title.
func (b both) show(title string) {
	for _, r := range b {
		r.Shows(title)
	}
}

// newEdgeOfTwo starts two instances that share a cache, a database and a CDN, which was told
// of the first title.
func newEdgeOfTwo(t *testing.T) (*edgeStub, *apptest.Vendors, both) {
	t.Helper()
	stub, vendors := newEdgeStub(t), apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	vendors.Published("title 0")
	env := edgeEnv(vendors, stub, map[string]string{
		"CACHE_URL":    valkeyserver.Start(t).URL(),
		"DATABASE_URL": pgserver.Start(t).NewDatabase(t),
	})

	instances := both{apptest.Launch(t, t.TempDir(), env...), apptest.Launch(t, t.TempDir(), env...)}
	instances.show("title 0")
	stub.quiet()
	return stub, vendors, instances
}

// TestEdgeOfTwoInstances publishes at either of two instances, which share a CDN.
func TestEdgeOfTwoInstances(t *testing.T) {
	t.Parallel()
	stub, vendors, instances := newEdgeOfTwo(t)

	// Once by one of them, and once more. One that is held up for longer than the other waits
	// for it tells a publication, too, which the edge does not notice.
	told := 0
	for i := range 4 {
		publishAt(instances[i%2], vendors, fmt.Sprintf("lone %d", i))
		instances.show(fmt.Sprintf("lone %d", i))
		time.Sleep(2 * time.Second) // with the time that one leaves to the other
		purges := stub.quiet()
		told += len(purges)
		if len(purges) == 0 {
			t.Error("a publication is not told")
		}
	}
	if told > 12 {
		t.Errorf("four publications are told %d times, as often as if each instance told all", told)
	}

	for i := range 20 {
		publishAt(instances[i%2], vendors, fmt.Sprintf("burst %d", i))
		instances.show(fmt.Sprintf("burst %d", i))
	}
	stub.told()
	if purges := stub.quiet(); len(purges) == 0 {
		t.Error("the last publication of a burst is not told again")
	}
}
