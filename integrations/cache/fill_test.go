package cache_test

import (
	"context"
	"strings"
	"testing"

	"siteapi/integrations/cache"
)

// A panic of a fill, which runs in the background, does not end the process.
func TestPanickingFill(t *testing.T) {
	t.Parallel()
	_, _, err := cache.Run(t.Context(), func(context.Context) ([]byte, cache.Lifetime, error) { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "fill_test.go") {
		t.Errorf("got %v, want what it panicked with and where", err)
	}
}
