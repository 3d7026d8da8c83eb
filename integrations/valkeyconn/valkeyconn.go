// Package valkeyconn maintains the connection to a Valkey or Redis server (RESP3, so
// Redis 6 or later) that may be unavailable. It detects an outage within a second, and
// connects as soon as the server is available. The cache and the rate limits share one
// connection.
package valkeyconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	heartbeat = 500 * time.Millisecond // pause between pings while the server is available
	retry     = 100 * time.Millisecond // pause between attempts while it is unavailable
	timeout   = 500 * time.Millisecond // limit of a ping, and of a stalled connection
	copies    = 64 << 20               // size of the client's copies of values, in bytes
)

// Conn is a connection to one server. Create it with Open.
type Conn struct {
	settings valkey.ClientOption
	onState  func(up bool, err error)
	client   atomic.Pointer[Client] // nil while the server is unavailable
	reason   atomic.Pointer[error]  // why it is unavailable
	stop     context.CancelFunc
	watching sync.WaitGroup
}

// Client is the client of one connection. It is closed with the connection, so Run
// remains valid.
type Client struct {
	valkey.Client

	// Run is the server's run id, which changes with each start of the server.
	Run string
}

// Open connects to an address like valkey://user:password@host:6379/0, or valkeys:// for
// TLS. The schemes redis and rediss work as well. An unavailable server is not an error,
// but an invalid address is, and so is a refusal that only an operator can resolve. Open
// calls onState with the initial state, and again whenever the server becomes
// unavailable, with the reason, or available.
func Open(ctx context.Context, url string, onState func(up bool, err error)) (*Conn, error) {
	settings, err := parse(url)
	if err != nil {
		return nil, err
	}

	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{settings: settings, onState: onState, stop: stop}

	err = c.connect(ctx)
	if isFinal(err) {
		c.Close()
		return nil, fmt.Errorf("connecting to Valkey: %w", err)
	}

	onState(err == nil, c.explain(err))
	c.watching.Go(func() { c.watch(watch) })
	return c, nil
}

// parse parses an address. Its errors contain no part of it that could be a password.
func parse(text string) (valkey.ClientOption, error) {
	o, err := valkey.ParseURL(text)
	if _, unreadable := errors.AsType[*url.Error](err); unreadable {
		return o, errors.New(
			"invalid address: expected the form valkey://user:password@host:6379/0, " +
				"with special characters of a password percent-encoded",
		)
	}
	if err != nil {
		return o, fmt.Errorf("parsing the address: %w", err)
	}

	o.ForceSingleClient = true
	o.PipelineMultiplex = -1  // one connection, to keep replies and pushes in order
	o.AlwaysPipelining = true // reads pushes at any time
	o.DisableRetry = true     // a command must not wait for an unavailable server
	o.Dialer.Timeout = time.Second
	o.Dialer.KeepAlive = heartbeat // also the pause between the library's pings
	o.ConnWriteTimeout = timeout
	o.CacheSizeEachConn = copies

	return o, nil
}

// Client returns the client or, while the server is unavailable, an error with its
// address and the reason. Commands need no context with a deadline: they fail within a
// second without a reply.
func (c *Conn) Client() (*Client, error) {
	if client := c.client.Load(); client != nil {
		return client, nil
	}
	return nil, *c.reason.Load()
}

// explain adds the server's address to the reason for its unavailability, and stores the
// result for Client.
func (c *Conn) explain(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", c.settings.InitAddress[0], err)
		c.reason.Store(&err)
	}
	return err
}

// Failed handles the error of a command and returns it. If the error means that the
// server is unavailable, Failed adds its address, and Client returns the error until the
// server is available again.
func (c *Conn) Failed(err error) error {
	if !isOutage(err) {
		return err
	}
	err = c.explain(err)
	if client := c.client.Swap(nil); client != nil {
		c.onState(false, err)
		go client.Close()
	}
	return err
}

// Close closes the connection.
func (c *Conn) Close() {
	c.stop()
	c.watching.Wait()
	_ = c.explain(errors.New("the connection is closed"))
	if client := c.client.Swap(nil); client != nil {
		client.Close()
	}
}

// watch pings the server at every heartbeat, and reconnects while it is unavailable.
func (c *Conn) watch(ctx context.Context) {
	for {
		client, outage := c.Client()
		pause := retry
		if outage == nil {
			pause = heartbeat
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}

		if outage == nil {
			_ = c.Failed(ping(ctx, client))
		} else if c.connect(ctx) == nil {
			c.onState(true, nil)
		}
	}
}

// connect opens a connection and reads the server's run id. The client never reconnects
// by itself, so it cannot send a command to a restarted server.
func (c *Conn) connect(ctx context.Context) error {
	var dialed atomic.Bool
	settings := c.settings
	settings.DialCtxFn = func(
		ctx context.Context, address string, dialer *net.Dialer, secure *tls.Config,
	) (net.Conn, error) {
		if dialed.Swap(true) {
			return nil, errors.New("the connection to the server has ended")
		}
		if secure != nil {
			return (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", address)
		}
		return dialer.DialContext(ctx, "tcp", address)
	}

	client, err := valkey.NewClient(settings)
	if err != nil {
		return err
	}

	run, err := runOf(ctx, client)
	if err != nil {
		client.Close()
		return err
	}
	c.client.Store(&Client{client, run})
	return nil
}

// runOf returns the run id of a server. A server that does not report it, such as a
// proxy, cannot be used: data from before and after a restart would be indistinguishable.
func runOf(ctx context.Context, client valkey.Client) (string, error) {
	if err := ping(ctx, client); err != nil {
		return "", err
	}
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "", err
	}

	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r\n")
	if run == "" {
		return "", errors.New("the server does not report its run_id")
	}
	return run, nil
}

func ping(ctx context.Context, client valkey.Client) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.Do(ctx, client.B().Ping().Build()).Error()
}

// isFinal reports whether an error persists until an operator resolves it.
func isFinal(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, refused := valkey.IsValkeyErr(err)
	return certificate || errors.Is(err, valkey.ErrNoCache) || refused && !isOutage(err)
}

// isOutage reports whether an error means that the server is unavailable. Otherwise the
// server is available and refused a single command.
func isOutage(err error) bool {
	reply, refused := valkey.IsValkeyErr(err)
	if !refused {
		return err != nil && !errors.Is(err, context.Canceled)
	}

	for _, code := range []string{"LOADING", "MASTERDOWN", "READONLY"} {
		if strings.HasPrefix(reply.Error(), code) {
			return true
		}
	}
	return false
}
