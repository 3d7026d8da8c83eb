// Package valkeyconn is the connection to a Valkey or Redis server (RESP3, so Redis 6 or
// later) that may be away. It connects when the server starts, detects within a second
// that the server is away, and reconnects when it is back. The cache and the rate limits
// share one connection.
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
	heartbeat = 500 * time.Millisecond // pause between pings while the server responds
	retry     = 100 * time.Millisecond // pause between attempts while the server is away
	timeout   = 500 * time.Millisecond // limit of a ping, and of a connection that stalls
	copies    = 64 << 20               // bytes of values that the client keeps itself
)

// Conn is a connection to one server. Create it with Open.
type Conn struct {
	settings valkey.ClientOption
	onState  func(up bool, err error)
	client   atomic.Pointer[Client] // nil while the server is away
	reason   atomic.Pointer[error]  // why it is away
	stop     context.CancelFunc
	watching sync.WaitGroup
}

// Client is the client of one connection. It ends with the connection, so that Run stays true.
type Client struct {
	valkey.Client

	// Run is what the server calls itself from its start to its end.
	Run string
}

// Open connects to an address such as valkey://user:password@host:6379/0, or valkeys://
// for TLS. The schemes redis and rediss work as well. A server that is away is not an
// error, but an unusable address is, and so is a refusal that only an operator can
// change. onState is called when the server goes away, with the reason, and when it is
// back.
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

// parse reads an address. Its errors repeat no part of it that could be a password.
func parse(text string) (valkey.ClientOption, error) {
	o, err := valkey.ParseURL(text)
	if _, unreadable := errors.AsType[*url.Error](err); unreadable {
		return o, errors.New(
			"the address can't be read: it should look like valkey://user:password@host:6379/0, " +
				"with special characters of a password percent-encoded",
		)
	}
	if err != nil {
		return o, fmt.Errorf("reading the address: %w", err)
	}

	o.ForceSingleClient = true
	o.PipelineMultiplex = -1  // One connection keeps replies and pushed invalidations in order.
	o.AlwaysPipelining = true // Pushes are read at any time.
	o.DisableRetry = true     // A command must not wait for a server that is away.
	o.Dialer.Timeout = time.Second
	o.Dialer.KeepAlive = heartbeat // also the pause between the client's own pings
	o.ConnWriteTimeout = timeout
	o.CacheSizeEachConn = copies

	return o, nil
}

// Client returns the client or, while the server is away, its address and the reason. A
// command needs no context of its own, because it fails within a second if it gets no reply.
func (c *Conn) Client() (*Client, error) {
	if client := c.client.Load(); client != nil {
		return client, nil
	}
	return nil, *c.reason.Load()
}

// explain adds the address to the reason why the server is away, which Client returns then.
func (c *Conn) explain(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", c.settings.InitAddress[0], err)
		c.reason.Store(&err)
	}
	return err
}

// Failed reports the error of a command, and returns it. If the error means that the server
// is away, it gets the address, and Client returns it until the server responds again.
func (c *Conn) Failed(err error) error {
	if !meansAway(err) {
		return err
	}
	err = c.explain(err)
	if client := c.client.Swap(nil); client != nil {
		c.onState(false, err)
		go client.Close()
	}
	return err
}

// Close ends the connection.
func (c *Conn) Close() {
	c.stop()
	c.watching.Wait()
	_ = c.explain(errors.New("the connection is closed"))
	if client := c.client.Swap(nil); client != nil {
		client.Close()
	}
}

// watch pings the server with every heartbeat, and connects again while it is away.
func (c *Conn) watch(ctx context.Context) {
	for {
		client, away := c.Client()
		pause := retry
		if away == nil {
			pause = heartbeat
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}

		if away == nil {
			_ = c.Failed(ping(ctx, client))
		} else if c.connect(ctx) == nil {
			c.onState(true, nil)
		}
	}
}

// connect makes a connection and asks the server for its run. A client whose connection has
// ended is not used again, so that no command is sent to a server that was started anew.
func (c *Conn) connect(ctx context.Context) error {
	var dialled atomic.Bool
	settings := c.settings
	settings.DialCtxFn = func(
		ctx context.Context, address string, dialer *net.Dialer, secure *tls.Config,
	) (net.Conn, error) {
		if dialled.Swap(true) {
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

// runOf asks a server for its run. One that does not say it, such as a proxy, can't be used: what
// it had before a restart could not be told from what it has after it.
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
		return "", errors.New("the server does not say its run_id")
	}
	return run, nil
}

func ping(ctx context.Context, client valkey.Client) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.Do(ctx, client.B().Ping().Build()).Error()
}

// isFinal reports whether an error persists until an operator changes something.
func isFinal(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, refused := valkey.IsValkeyErr(err)
	return certificate || errors.Is(err, valkey.ErrNoCache) || refused && !meansAway(err)
}

// meansAway reports whether an error means that the server is away. Otherwise the server
// replied and refused one command.
func meansAway(err error) bool {
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
