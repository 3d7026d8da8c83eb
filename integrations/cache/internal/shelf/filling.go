package shelf

import (
	"context"
	"runtime/debug"
	"time"

	"siteapi/integrations/cache"
)

// Filling runs a fill and tells the owner of the cache how it went.
type Filling struct {
	Key     string
	Refresh bool
	Report  func(cache.FillReport) // may be nil
}

// Run calls fill. A panic becomes a [*cache.PanicError].
func (f Filling) Run(ctx context.Context, fill cache.Fill) (value []byte, err error) {
	begin := time.Now()
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, &cache.PanicError{Value: p, Stack: debug.Stack()}
		}
		if f.Report != nil {
			f.Report(cache.FillReport{Key: f.Key, Took: time.Since(begin), Refresh: f.Refresh, Err: err})
		}
	}()
	return fill(ctx)
}
