package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/memory"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	cachetest.Run(t, func(t *testing.T) (a, b cache.Cache) {
		c := memory.New()
		t.Cleanup(func() { _ = c.Close() })
		return c, c
	})
}

// TestBound stores five times the capacity of the cache.
func TestBound(t *testing.T) {
	t.Parallel()
	c, value := memory.New(), bytes.Repeat([]byte("x"), 1<<20)
	defer func() { _ = c.Close() }()

	for i := range 320 {
		if _, err := c.Get(t.Context(), fmt.Sprint(i), func(context.Context) ([]byte, cache.Lifetime, error) {
			return value, cache.Lifetime{}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	if size := c.Stats(t.Context()).Size; size == 0 || size > 100 {
		t.Errorf("%d MiB are stored, want at most about 64", size)
	}
}

// TestLargeEntriesStay checks that three entries stay in the cache although their total
// size exceeds the bound.
func TestLargeEntriesStay(t *testing.T) {
	t.Parallel()
	c := memory.New()
	defer func() { _ = c.Close() }()

	fills := 0
	for range 3 {
		for _, key := range []string{"en", "es", "ro"} {
			_, err := c.Get(t.Context(), key, func(context.Context) ([]byte, cache.Lifetime, error) {
				fills++
				return make([]byte, 32<<20), cache.Lifetime{Fresh: time.Hour}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if fills != 3 {
		t.Errorf("3 keys took %d fills", fills)
	}
}
