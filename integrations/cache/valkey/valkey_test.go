package valkey_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
	"siteapi/integrations/valkeyconn"
)

// open returns a cache on a server with a prefix.
func open(t *testing.T, url, prefix string) *valkey.Cache {
	t.Helper()
	conn, err := valkeyconn.Open(t.Context(), url, func(bool, error) {})
	must(t, err)

	c := valkey.New(conn, prefix)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	var n atomic.Int32
	cachetest.Run(t, func(t *testing.T) (a, b cache.Cache) {
		prefix := fmt.Sprintf("test%d:", n.Add(1))
		return open(t, server.URL(), prefix), open(t, server.URL(), prefix)
	})
}
