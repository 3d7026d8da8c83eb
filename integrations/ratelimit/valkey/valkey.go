// Package valkey counts requests in a Valkey or Redis server, for all instances of the
// service together. While the server is away, each instance counts for itself.
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

// Limiter counts for all instances on the same server and prefix. Create it with New.
type Limiter struct {
	conn   *valkeyconn.Conn
	prefix string
	alone  *memory.Limiter // used while the server is away
}

// New returns the limiter under a prefix of the keys at a server.
func New(conn *valkeyconn.Conn, prefix string) *Limiter {
	return &Limiter{conn, prefix, memory.New()}
}

// decide implements the generic cell rate algorithm. For each key it stores the time
// until which the requests are paid for, in microseconds of the server's clock. It
// refuses requests that would move this time further ahead than the burst allows. The
// arguments are the time that pays for the requests and the time of a burst. The result
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
	client, away := l.conn.Client()
	if away != nil {
		return l.alone.Allow(ctx, key, n, rule)
	}

	one := rule.Interval().Microseconds()
	wait, err := decide.Exec(context.Background(), client,
		[]string{l.prefix + "rate:" + key},
		[]string{strconv.FormatInt(one*int64(n), 10), strconv.FormatInt(one*int64(rule.Burst), 10)},
	).AsInt64()

	if err != nil {
		_ = l.conn.Failed(err)
		return l.alone.Allow(ctx, key, n, rule)
	}
	return wait == 0, time.Duration(wait) * time.Microsecond
}
