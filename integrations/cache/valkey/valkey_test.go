package valkey_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

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
		return open(t, valkey.Options{URL: server.URL(), Prefix: prefix()})
	})
}

func TestSharedConformance(t *testing.T) {
	t.Parallel()
	server, prefix := valkeyserver.Start(t), prefixes()
	cachetest.RunShared(t, func(t *testing.T) (a, b cache.Cache) {
		o := valkey.Options{URL: server.URL(), Prefix: prefix()}
		return open(t, o), open(t, o)
	})
}
