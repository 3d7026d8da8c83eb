// Package valkey counts the requests of all instances of the service in a Valkey or Redis
// server. While the server is unavailable, each instance counts independently.
package valkey

import (
	"context"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/ratelimit"
	"siteapi/integrations/ratelimit/memory"
	"siteapi/integrations/valkeyconn"
)

// Limiter shares its counts with all instances that use the same server and prefix.
// Create it with New.
type Limiter struct {
	conn    *valkeyconn.Conn
	prefix  string
	offline *memory.Limiter // used while the server is unavailable
}

// New returns a limiter whose keys on the server begin with prefix.
func New(conn *valkeyconn.Conn, prefix string) *Limiter {
	return &Limiter{conn, prefix, memory.New()}
}

// decide implements the generic cell rate algorithm (GCRA). For each key it stores the
// theoretical arrival time of the next request in microseconds of the server's clock. It
// refuses requests that would move this time further ahead than the burst allows. The
// arguments are the intervals of the requests and of a burst in microseconds. The result
// is the time to wait, or 0 if the requests are allowed.
var decide = valkey.NewLuaScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local ahead = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + tonumber(ARGV[1]) - now
if ahead > tonumber(ARGV[2]) then return ahead - tonumber(ARGV[2]) end
redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000))
return 0`)

// Allow implements [ratelimit.Limiter].
func (l *Limiter) Allow(ctx context.Context, key string, n int, rule ratelimit.Rule) (bool, time.Duration) {
	client, err := l.conn.Client()
	if err != nil {
		return l.offline.Allow(ctx, key, n, rule)
	}

	one := rule.Interval().Microseconds()
	wait, err := decide.Exec(context.Background(), client,
		[]string{l.prefix + "rate:" + key},
		[]string{strconv.FormatInt(one*int64(n), 10), strconv.FormatInt(one*int64(rule.Burst), 10)},
	).AsInt64()

	if err != nil {
		_ = l.conn.Failed(err)
		return l.offline.Allow(ctx, key, n, rule)
	}
	return wait == 0, time.Duration(wait) * time.Microsecond
}
