package cache_test

import (
	"context"
	"strings"
	"testing"

	"siteapi/integrations/cache"
)

// TestPanickingFill checks that a panic of a fill in the background does not end the
// process.
func TestPanickingFill(t *testing.T) {
	t.Parallel()
	_, _, err := cache.Run(t.Context(), func(context.Context) ([]byte, cache.Lifetime, error) { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "fill_test.go") {
		t.Errorf("got %v, want the value and the location of the panic", err)
	}
}
