package file

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch calls changed after each change of the content until ctx ends, whose error it
// returns. A file that is replaced, removed or half-written calls nothing until it can be
// read again. It looks besides at regular times, since some file systems report nothing,
// and so a change is never missed for longer than Options.Poll.
func (d *Driver) Watch(ctx context.Context, changed func()) error {
	if d.opts.Path == "" {
		<-ctx.Done()
		return ctx.Err()
	}
	// A Fetch may have read a change already, without anybody being told: what counts is
	// whether the content is another than at the last call, or at Open before the first.
	told := 0
	look := func() {
		if now := d.refresh(); now != told {
			told = now
			changed()
		}
	}

	// The file itself is watched rather than its folder, which may hold a busy database.
	// A watcher that can't be had (a limit of the system) leaves the regular looks.
	var events <-chan fsnotify.Event
	var troubles <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.opts.Log.Warn().Err(err).Msg("changes of the content file are noticed by polling only")
	} else {
		defer func() { _ = watcher.Close() }()
		events, troubles = watcher.Events, watcher.Errors
	}
	follow := func() {
		if watcher != nil {
			// Adding a file that is watched already changes nothing; one that is away for
			// a moment, while an editor replaces it, is added at the next look.
			_ = watcher.Add(d.opts.Path)
		}
	}
	follow()
	look()

	poll := time.NewTicker(d.opts.Poll)
	defer poll.Stop()
	var quiet <-chan time.Time // runs out when the file has been quiet for long enough
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-events:
			if !open {
				events = nil
				continue
			}
			quiet = time.After(d.opts.Debounce)
		case err, open := <-troubles:
			if !open {
				troubles = nil
				continue
			}
			d.opts.Log.Warn().Err(err).Msg("watching the content file")
		case <-quiet:
			quiet = nil
			follow()
			look()
		case <-poll.C:
			follow()
			// A file that is being written is not looked at by the way.
			if quiet == nil {
				look()
			}
		}
	}
}
