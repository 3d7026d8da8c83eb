package cache_test

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
)

// A value is filled once, and again after its key was invalidated.
func ExampleCache() {
	ctx, c := context.Background(), memory.New()
	defer func() { _ = c.Close() }()

	fill := func(context.Context) ([]byte, cache.Lifetime, error) {
		fmt.Println("asking the CMS")
		return []byte("Hola"), cache.Lifetime{Fresh: time.Minute}, nil
	}

	for range 2 {
		entry, err := c.Get(ctx, "content:locale:es", fill)
		fmt.Println(string(entry.Value), err)
	}
	fmt.Println(c.Invalidate(ctx, "content:locale:es"))
	entry, err := c.Get(ctx, "content:locale:es", fill)
	fmt.Println(string(entry.Value), err)

	// Output:
	// asking the CMS
	// Hola <nil>
	// Hola <nil>
	// <nil>
	// asking the CMS
	// Hola <nil>
}
