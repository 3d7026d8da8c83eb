package memory_test

import (
	"testing"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/memory"
)

// open returns an empty cache.
func open(t *testing.T) cache.Cache {
	t.Helper()
	c, err := memory.New(memory.Options{})
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

func TestConformance(t *testing.T) {
	t.Parallel()
	cachetest.Run(t, open)
}
