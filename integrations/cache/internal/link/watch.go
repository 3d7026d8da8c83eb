package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// awayPause is the pause between two tries while the server is away.
const awayPause = 100 * time.Millisecond

// watch connects, then looks at the server with every heartbeat, more often while it
// is away. It alone says that the server is back. The outcome of the first try goes
// to first.
func (l *Link) watch(native valkey.ClientOption, first chan<- error) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	reported := false // of the server being away from the start
	for {
		select {
		case <-l.closing.Done():
			return
		case <-pause.C:
		case <-l.kick:
		}
		err := l.look(native)
		switch wasUp := l.up.Load(); {
		case err == nil && !wasUp:
			l.up.Store(true)
			l.turned(nil)
		case err != nil && (wasUp || !reported):
			l.up.Store(false)
			l.turned(err)
		}
		reported = true
		select {
		case first <- err: // who opens the link finds it up
		default:
		}
		if l.up.Load() {
			pause.Reset(l.opts.Heartbeat)
		} else {
			pause.Reset(awayPause)
		}
	}
}

// look connects if that is still to be done and asks the server for a sign of life.
func (l *Link) look(native valkey.ClientOption) error {
	if l.client.Load() == nil {
		c, err := valkey.NewClient(native)
		if err != nil {
			return err
		}
		l.client.Store(&c)
	}
	return l.Ping(l.closing)
}

// Ping asks the server for a sign of life within the time-out of the link.
func (l *Link) Ping(ctx context.Context) error {
	c := l.client.Load()
	if c == nil {
		return valkey.ErrNoAddr
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	return (*c).Do(ctx, (*c).B().Ping().Build()).Error()
}

// final reports whether an error stays until an operator changes something.
func final(err error) bool {
	if err == nil {
		return false
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
	)
	if errors.Is(err, valkey.ErrNoCache) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &record) {
		return true
	}
	for _, code := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "DB index is out of range", "SELECT is not allowed"} {
		if strings.HasPrefix(err.Error(), code) {
			return true
		}
	}
	return false
}

// trouble reports whether an error means that the server is away, rather than that
// it answered and refused one command.
func trouble(err error) bool {
	reply, ok := valkey.IsValkeyErr(err)
	if !ok {
		return !errors.Is(err, context.Canceled)
	}
	for _, code := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY"} {
		if strings.HasPrefix(reply.Error(), code) {
			return true
		}
	}
	return false
}
