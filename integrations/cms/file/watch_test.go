package file_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/file"
)

// watched is a driver that is being watched.
type watched struct {
	*file.Driver
	path    string
	changes chan struct{}
}

func watch(t *testing.T, poll time.Duration) watched {
	t.Helper()
	dir := t.TempDir()
	w := watched{path: filepath.Join(dir, "content.json"), changes: make(chan struct{}, 100)}
	write(t, w.path, page("start"))
	var err error
	w.Driver, err = file.Open(file.Options{
		Path: w.path, Dir: dir, Log: zerolog.Nop(), Debounce: 20 * time.Millisecond, Poll: poll,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Watch(ctx, func() { w.changes <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
	return w
}

func page(id string) string { return fmt.Sprintf(`[{"_id":%q,"_type":"page"}]`, id) }

// expect waits for a change after which exactly these pages are served.
func (w watched) expect(t *testing.T, id string) {
	t.Helper()
	select {
	case <-w.changes:
	case <-time.After(5 * time.Second):
		t.Fatalf("no change was noticed, want %s", id)
	}
	if got := pages(t, w.Driver); !slices.Equal(got, []string{id}) {
		t.Fatalf("%q, want %s", got, id)
	}
}

func (w watched) silent(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-w.changes:
		t.Fatalf("a change was reported; served is %q", pages(t, w.Driver))
	case <-time.After(d):
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	const never = time.Hour // so that it is the events that are tested
	for name, tc := range map[string]struct {
		poll time.Duration
		do   func(t *testing.T, w watched)
	}{
		"rewritten in place": {never, func(t *testing.T, w watched) {
			for i := range 3 {
				id := fmt.Sprint("p", i)
				write(t, w.path, page(id))
				w.expect(t, id)
			}
		}},
		"replaced by renaming": {never, func(t *testing.T, w watched) {
			for i := range 3 {
				id := fmt.Sprint("p", i)
				write(t, w.path+".tmp", page(id))
				rename(t, w.path+".tmp", w.path)
				w.expect(t, id)
			}
		}},
		"replaced by renaming, by polling": {20 * time.Millisecond, func(t *testing.T, w watched) {
			// Three at once: an event may get lost, the last content may not.
			for _, id := range []string{"x", "y", "p"} {
				write(t, w.path+".tmp", page(id))
				rename(t, w.path+".tmp", w.path)
			}
			for !slices.Equal(pages(t, w.Driver), []string{"p"}) {
				<-w.changes
			}
		}},
		"moved away and written anew": {20 * time.Millisecond, func(t *testing.T, w watched) {
			rename(t, w.path, w.path+"~")
			w.silent(t, 100*time.Millisecond)
			write(t, w.path, page("p"))
			w.expect(t, "p")
		}},
		"half-written": {never, func(t *testing.T, w watched) {
			write(t, w.path, page("p")[:9])
			w.silent(t, 100*time.Millisecond)
			write(t, w.path, page("p"))
			w.expect(t, "p")
		}},
		"the same again": {20 * time.Millisecond, func(t *testing.T, w watched) {
			write(t, w.path, page("start"))
			w.silent(t, 100*time.Millisecond)
		}},
		"a burst is hardly more than one change": {never, func(t *testing.T, w watched) {
			for i := range 50 {
				write(t, w.path, page(fmt.Sprint("p", i)))
			}
			for n := 1; ; n++ {
				<-w.changes
				if slices.Equal(pages(t, w.Driver), []string{"p49"}) {
					break
				}
				if n > 10 {
					t.Fatalf("%d changes were reported", n)
				}
			}
		}},
		"read by Fetch first": {20 * time.Millisecond, func(t *testing.T, w watched) {
			write(t, w.path, page("p"))
			_ = pages(t, w.Driver)
			w.expect(t, "p")
		}},
		"a symbolic link is turned": {20 * time.Millisecond, func(t *testing.T, w watched) {
			write(t, w.path+".1", page("p"))
			if err := os.Symlink(w.path+".1", w.path+".link"); err != nil {
				t.Fatal(err)
			}
			rename(t, w.path+".link", w.path)
			w.expect(t, "p")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, tc.poll)
			// The watch may begin after the first write: it must notice that as well.
			tc.do(t, w)
		})
	}
}

func TestWatchOfTheSampleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d, err := file.Open(file.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var _ cms.Watcher = d
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := d.Watch(ctx, func() { t.Error("the sample changed") }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
