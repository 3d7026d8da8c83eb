package valkey_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

// patient is the time-out of tests in which the server never goes away: that of a
// service would find it away on a machine that is busy with other tests.
const patient = 20 * time.Second

// open opens a cache that is closed at the end of the test.
func open(t testing.TB, o valkey.Options) *valkey.Cache {
	t.Helper()
	c, err := valkey.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// prefixes makes every cache of one server a service of its own.
func prefixes() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("test[*]%d:", n.Add(1)) }
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server, prefix := valkeyserver.Start(t), prefixes()
	cachetest.Run(t, func(t *testing.T) cache.Cache {
		return open(t, valkey.Options{URL: server.URL(), Prefix: prefix(), Timeout: patient})
	})
}

func TestSharedConformance(t *testing.T) {
	t.Parallel()
	server, prefix := valkeyserver.Start(t), prefixes()
	cachetest.RunShared(t, func(t *testing.T) (a, b cache.Cache) {
		o := valkey.Options{URL: server.URL(), Prefix: prefix(), Timeout: patient}
		return open(t, o), open(t, o)
	})
}
