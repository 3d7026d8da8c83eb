// Package link keeps the connection of a driver to a Valkey server: it comes up when
// the server does, tells quickly that the server is away, and notices when it is
// back. The client underneath reconnects by itself once it was connected, but it
// can't be created while the server is away, and it would let every request wait for
// a time-out of its own.
package link

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// Options of a link. Zero fields have the stated defaults.
type Options struct {
	// URL is read by ParseURL.
	URL string
	// Tracking are options of CLIENT TRACKING; none: no tracking.
	Tracking []string
	// OnPush is told the names that changed at the server, nil for all of them. It must
	// be fast.
	OnPush func(names []string)
	// OnTurn is called each time the server went away or came back, after the link says
	// so: what began before it saw the other state.
	OnTurn func()
	// OnState is told of each change, with the reason while the server is away.
	OnState func(up bool, err error)
	// Timeout bounds a sign of life. Default: 250 ms.
	Timeout time.Duration
	// Heartbeat is the pause between two signs of life. Default: 500 ms.
	Heartbeat time.Duration
}

// Link is a connection that may be away. Create it with Open.
type Link struct {
	opts   Options
	client atomic.Pointer[valkey.Client]
	up     atomic.Bool
	kick   chan struct{} // asks for a sign of life now

	closing context.Context
	close   context.CancelFunc
	done    sync.WaitGroup
}

// Open begins to connect and waits a moment for it. That the server is away is no
// error; that the address can't be read, or that the server answered and refused
// for a reason which only an operator can change, is one.
func Open(ctx context.Context, o Options) (*Link, error) {
	if o.Timeout <= 0 {
		o.Timeout = 250 * time.Millisecond
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 500 * time.Millisecond
	}
	native, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	tune(&native, o)
	l := &Link{opts: o, kick: make(chan struct{}, 1)}
	l.closing, l.close = context.WithCancel(context.Background())
	first := make(chan error, 1)
	l.done.Go(func() { l.watch(native, first) })
	select {
	case err := <-first:
		if final(err) {
			l.Close()
			return nil, fmt.Errorf("connecting to Valkey: %w", err)
		}
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return l, nil
}

// tune sets what doesn't depend on the address.
func tune(native *valkey.ClientOption, o Options) {
	native.Dialer.Timeout = time.Second
	native.Dialer.KeepAlive = time.Second // also the pause between the client's own pings
	native.ConnWriteTimeout = 2 * time.Second
	native.PipelineMultiplex = -1 // one connection: what it reads and what is pushed come in order
	native.DisableRetry = true    // the heartbeat decides, not each request by waiting
	// The client's own copies would cost memory twice: the driver keeps decoded ones.
	native.CacheSizeEachConn = 1 << 10
	native.ReadBufferEachConn, native.WriteBufferEachConn = 64<<10, 64<<10
	native.DisableCache = o.Tracking == nil
	native.ClientTrackingOptions = o.Tracking
	if o.OnPush != nil {
		native.OnInvalidations = func(messages []valkey.ValkeyMessage) {
			if messages == nil {
				o.OnPush(nil)
				return
			}
			names := make([]string, 0, len(messages))
			for _, m := range messages {
				if name, err := m.ToString(); err == nil {
					names = append(names, name)
				}
			}
			o.OnPush(names)
		}
	}
}

// Client returns the client and whether the server is within reach. The client is
// nil until the server was reached once.
func (l *Link) Client() (valkey.Client, bool) {
	if c := l.client.Load(); c != nil {
		return *c, l.up.Load()
	}
	return nil, false
}

// Failed translates an error of a command into one that wraps
// [cache.ErrUnavailable], and has the link look at once whether the server is there.
// op says what was tried.
func (l *Link) Failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if trouble(err) && l.up.CompareAndSwap(true, false) {
		l.turned(err)
	}
	l.Check()
	return fmt.Errorf("%s: %w: %w", op, cache.ErrUnavailable, err)
}

// Check asks for a sign of life now rather than at the next heartbeat.
func (l *Link) Check() {
	select {
	case l.kick <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Close ends the connection.
func (l *Link) Close() {
	l.close()
	l.done.Wait()
	if c := l.client.Load(); c != nil {
		(*c).Close()
	}
	l.up.Store(false)
}

// turned tells the owner that the server came back (nil) or went away.
func (l *Link) turned(err error) {
	if l.opts.OnTurn != nil {
		l.opts.OnTurn()
	}
	if l.opts.OnState != nil && l.closing.Err() == nil {
		l.opts.OnState(err == nil, err)
	}
}
