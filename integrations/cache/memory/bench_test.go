package memory_test

import (
	"context"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
)

// hot returns a cache with one entry under key.
func hot(b *testing.B, key string, life cache.Lifetime) *memory.Cache {
	b.Helper()
	c, err := memory.New(memory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if _, err := c.Get(b.Context(), key, life, content); err != nil {
		b.Fatal(err)
	}
	return c
}

func content(context.Context) ([]byte, error) { return make([]byte, 4096), nil }

func BenchmarkPeekHot(b *testing.B) {
	c := hot(b, "content:locale:en", cache.Lifetime{Fresh: time.Hour})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Peek(ctx, "content:locale:en"); !ok {
			b.Fatal("not there")
		}
	}
}

func BenchmarkPeekHotParallel(b *testing.B) {
	c := hot(b, "content:locale:en", cache.Lifetime{Fresh: time.Hour})
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := c.Peek(ctx, "content:locale:en"); !ok {
				b.Error("not there")
			}
		}
	})
}

func BenchmarkGetHot(b *testing.B) {
	life := cache.Lifetime{Fresh: time.Hour}
	c := hot(b, "content:locale:en", life)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(ctx, "content:locale:en", life, content); err != nil {
			b.Fatal(err)
		}
	}
}
