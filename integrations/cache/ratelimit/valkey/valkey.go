// Package valkey counts requests in a Valkey or Redis server, for all instances of
// the service together. While the server is away each instance counts for itself.
//
// A key that is refused is refused from memory until its time comes, so that a flood
// doesn't reach the server.
package valkey

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache/internal/link"
	"siteapi/integrations/cache/ratelimit"
	"siteapi/integrations/cache/ratelimit/memory"
)

// DefaultPrefix is what the names of all keys begin with unless Options say otherwise.
const DefaultPrefix = "siteapi:"

// Options of the limiter. Zero fields have the stated defaults.
type Options struct {
	// URL is the address, as for the cache.
	URL string
	// Prefix begins the names of all keys at the server. What follows is "r:" and the key.
	// It may be that of the cache. Default: DefaultPrefix.
	Prefix string
	// Timeout bounds one question to the server; then this instance decides for itself.
	// Default: 100 ms.
	Timeout time.Duration
	// OnState, if set, is told when the server went away, and why, and when it came back.
	OnState func(up bool, err error)
}

// Limiter counts for all who use the same server and prefix. Create it with Open.
type Limiter struct {
	opts    Options
	link    *link.Link
	script  *valkey.Lua
	alone   *memory.Limiter
	refused *otter.Cache[string, time.Time] // until when
}

var _ ratelimit.Limiter = (*Limiter)(nil)

// decide is Rule.Decide at the server and by its clock. Times are microseconds.
// KEYS: the key. ARGV: interval, tolerance. Returns: OK, wait, remaining.
const decide = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, tolerance = tonumber(ARGV[1]), tonumber(ARGV[2])
local paid = tonumber(redis.call('GET', KEYS[1]) or 0)
local ahead = math.max(paid, now) + interval - now
if ahead > tolerance then return {0, ahead - tolerance, 0} end
redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000))
return {1, 0, math.floor((tolerance - ahead) / interval)}`

// Open returns a limiter on the server at o.URL. A server that is away is no error.
func Open(ctx context.Context, o Options) (*Limiter, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Timeout <= 0 {
		o.Timeout = 100 * time.Millisecond
	}
	alone, err := memory.New(memory.Options{})
	if err != nil {
		return nil, err
	}
	refused, err := otter.New(&otter.Options[string, time.Time]{MaximumSize: 100_000})
	if err != nil {
		return nil, fmt.Errorf("making room for the rate limits: %w", err)
	}
	l := &Limiter{opts: o, script: valkey.NewLuaScript(decide), alone: alone, refused: refused}
	l.link, err = link.Open(ctx, link.Options{URL: o.URL, OnState: o.OnState})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Allow implements [ratelimit.Limiter].
func (l *Limiter) Allow(ctx context.Context, key string, rule ratelimit.Rule) ratelimit.Decision {
	if rule.Unlimited() {
		return ratelimit.Decision{OK: true, Remaining: math.MaxInt}
	}
	if until, ok := l.refused.GetIfPresent(key); ok {
		if wait := time.Until(until); wait > 0 {
			return ratelimit.Decision{RetryAfter: wait}
		}
		l.refused.Invalidate(key)
	}
	decision, err := l.ask(ctx, key, rule)
	if err != nil {
		return l.alone.Allow(ctx, key, rule)
	}
	if !decision.OK {
		l.refused.Set(key, time.Now().Add(decision.RetryAfter))
	}
	return decision
}

// ask has the server decide.
func (l *Limiter) ask(ctx context.Context, key string, rule ratelimit.Rule) (ratelimit.Decision, error) {
	client, up := l.link.Client()
	if !up {
		return ratelimit.Decision{}, valkey.ErrNoAddr
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.Timeout)
	defer cancel()
	answer, err := l.script.Exec(ctx, client, []string{l.opts.Prefix + "r:" + key},
		[]string{microseconds(rule.Interval()), microseconds(rule.Tolerance())}).AsIntSlice()
	if err == nil && len(answer) != 3 {
		err = fmt.Errorf("an answer of %d fields", len(answer))
	}
	if err != nil {
		return ratelimit.Decision{}, l.link.Failed("asking for a rate limit", err)
	}
	return ratelimit.Decision{
		OK: answer[0] == 1, RetryAfter: time.Duration(answer[1]) * time.Microsecond, Remaining: int(answer[2]),
	}, nil
}

// Close implements [ratelimit.Limiter].
func (l *Limiter) Close() error {
	l.link.Close()
	l.refused.StopAllGoroutines()
	return l.alone.Close()
}

func microseconds(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
