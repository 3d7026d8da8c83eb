// Package valkeyconn is the connection to a Valkey or Redis server (6 or later) that may be
// away: it comes up when the server does, reports within a second that the server is away,
// and notices when it is back. The cache and the rate limits share one.
package valkeyconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	heartbeat = 500 * time.Millisecond // between two pings while the server is there
	retry     = 100 * time.Millisecond // between two tries while it is away
	timeout   = 500 * time.Millisecond // of a command
	maxIdle   = 32                     // connections that are kept for further commands
	idleLife  = time.Minute            // of such a connection
)

// ErrAway means that the server can't be reached.
var ErrAway = errors.New("the server is away")

// Conn is a connection to one server. Create it with Open.
type Conn struct {
	url     string
	options []redis.DialOption
	copied  string // prefix of the names that Get keeps copies of
	onState func(up bool, err error)

	session  atomic.Pointer[session] // nil while the server is away
	stop     context.CancelFunc
	watching sync.WaitGroup
}

// Open connects to an address: valkey://user:password@host:6379/0, valkeys:// for TLS; redis
// and rediss mean the same. [Conn.Get] takes names that begin with the prefix copied. A server
// that is away is no error; an address that can't be used, or a server that refuses for a
// reason which only an operator can change, is one. onState is called when the server went
// away, with the reason, and when it came back.
func Open(ctx context.Context, address, copied string, onState func(up bool, err error)) (*Conn, error) {
	u, err := url.Parse(address)
	if err != nil { // which may show a password
		return nil, errors.New("the address can't be read: it should look like valkey://user:password@host:6379/0, " +
			"with special characters of a password percent-encoded")
	}
	c := &Conn{url: address, copied: copied, onState: onState, options: []redis.DialOption{
		redis.DialConnectTimeout(time.Second), redis.DialReadTimeout(timeout), redis.DialWriteTimeout(timeout),
		redis.DialTLSSkipVerify(u.Query().Get("skip_verify") == "true"),
	}}
	s, err := c.connect(ctx)
	if isFinal(err) {
		return nil, fmt.Errorf("connecting to Valkey: %w", err)
	}
	c.session.Store(s)
	onState(err == nil, err)
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.watching.Go(func() { c.watch(ctx) })
	return c, nil
}

// Do sends a command. It needs no context: one that gets no reply fails within a second.
func (c *Conn) Do(command string, args ...any) (any, error) {
	return c.use(func(conn redis.Conn) (any, error) { return conn.Do(command, args...) })
}

// Run runs a script.
func (c *Conn) Run(script *redis.Script, keysAndArgs ...any) (any, error) {
	return c.use(func(conn redis.Conn) (any, error) { return script.Do(conn, keysAndArgs...) })
}

func (c *Conn) use(f func(redis.Conn) (any, error)) (any, error) {
	s := c.session.Load()
	if s == nil {
		return nil, ErrAway
	}
	conn := s.pool.Get()
	defer func() { _ = conn.Close() }()
	reply, err := f(conn)
	if meansAway(err) {
		c.end(s, err)
	}
	return reply, err
}

// Close ends the connection.
func (c *Conn) Close() {
	c.stop()
	if s := c.session.Swap(nil); s != nil {
		s.close()
	}
	c.watching.Wait()
}

// watch follows the server's pushes, and connects again when the server was away.
func (c *Conn) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if s := c.session.Load(); s != nil {
			c.end(s, s.follow())
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
		if s, err := c.connect(ctx); err == nil {
			c.session.Store(s)
			c.onState(true, nil)
		}
	}
	if s := c.session.Swap(nil); s != nil { // connected while Close was called
		s.close()
	}
}

// end ends a session, once.
func (c *Conn) end(s *session, err error) {
	if c.session.CompareAndSwap(s, nil) {
		s.close()
		c.onState(false, err)
	}
}

// isFinal reports whether an error stays until an operator changes something.
func isFinal(err error) bool {
	if err == nil {
		return false
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, refused := errors.AsType[redis.Error](err)
	return certificate || refused && !meansAway(err) || strings.Contains(err.Error(), "invalid redis URL")
}

// meansAway reports whether an error means that the server is away, rather than that it
// answered and refused one command.
func meansAway(err error) bool {
	reply, refused := errors.AsType[redis.Error](err)
	if !refused {
		return err != nil
	}
	for _, code := range []string{"LOADING", "MASTERDOWN", "READONLY"} {
		if strings.HasPrefix(string(reply), code) {
			return true
		}
	}
	return false
}
