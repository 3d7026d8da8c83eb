// Package systems opens and closes the systems that the settings name. It is the only
// package that imports drivers.
package systems

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cache/valkey"
	limitmemory "siteapi/integrations/ratelimit/memory"
	limitvalkey "siteapi/integrations/ratelimit/valkey"
	"siteapi/integrations/turnstile"
	"siteapi/integrations/valkeyconn"
)

// Opener opens the systems that the settings name. The caller must close what has a Close
// method.
type Opener struct {
	Settings *config.Settings
	Log      zerolog.Logger
	Metrics  *telemetry.Metrics

	// Alone opens a SQLite database only if no other process uses it, and keeps others out.
	Alone bool
}

// Challenge returns the client of the bot check, or nil without TURNSTILE_SECRET.
func (o Opener) Challenge() *turnstile.Verifier {
	if o.Settings.TurnstileKey == "" {
		return nil
	}
	return turnstile.New(turnstile.Options{
		Secret:  o.Settings.TurnstileKey,
		URL:     o.Settings.TurnstileURL,
		Observe: o.Metrics.Call,
	})
}

// Cache opens the cache of CACHE_URL. The connection is nil with memory://; otherwise
// it is shared with the rate limits and is closed with the cache.
func (o Opener) Cache(ctx context.Context) (cache.Cache, *valkeyconn.Conn, error) {
	s := o.Settings
	if s.CacheURL.Scheme == "memory" {
		return memory.New(), nil, nil
	}

	conn, err := valkeyconn.Open(ctx, s.CacheURL.String(), func(up bool, err error) {
		if up {
			o.Log.Info().Msg("connected to the cache server")
			return
		}

		o.Log.Error().Err(err).Msg("cannot reach the cache server: " +
			"content comes from the CMS, and requests are counted per instance")
	})
	if err != nil {
		return nil, nil, fmt.Errorf("CACHE_URL: %w", err)
	}
	return valkey.New(conn, s.CachePrefix), conn, nil
}

// RateLimits returns the rate limits, or nil with RATE_LIMITS=off. Instances that share a
// cache server also share their counts.
func (o Opener) RateLimits(conn *valkeyconn.Conn) *httpserver.RateLimits {
	if !o.Settings.RateLimits {
		return nil
	}

	local := limitmemory.New()
	limits := &httpserver.RateLimits{Shared: local, Local: local}
	if conn != nil {
		limits.Shared = limitvalkey.New(conn, o.Settings.CachePrefix)
	}
	return limits
}
