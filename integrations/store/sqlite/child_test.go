//go:build linux

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest"
)

// Some tests need a process of their own, which is killed or limited. The test binary
// runs itself with childRole set to one of the roles.
const (
	childRole = "SQLITE_TEST_ROLE"
	childPath = "SQLITE_TEST_PATH"
	childName = "SQLITE_TEST_NAME"
)

func TestMain(m *testing.M) {
	roles := map[string]func(ctx context.Context, path, name string) error{
		"write":       childWrite,
		"out of room": childOutOfRoom,
	}

	role, ok := roles[os.Getenv(childRole)]
	if !ok {
		os.Exit(m.Run())
	}

	if err := role(context.Background(), os.Getenv(childPath), os.Getenv(childName)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child prepares a process with a role.
func child(t *testing.T, role, path, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path, childName+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWrite tracks and submits as fast as it can, and prints a line for each
// acknowledged write, until it is killed.
func childWrite(ctx context.Context, path, name string) error {
	s, err := openWithJobs(ctx, path)
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", name, c, i)
				if err := s.Track(ctx, storetest.Visit(id, storetest.When())); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				// One write per line, so that a kill cuts at most the last one short.
				fmt.Fprint(os.Stdout, "track "+id+"\n")

				n := storetest.Lead(i)
				n.Lead.ID, n.ContentKey, n.IdempotencyKey = id, id, id
				if _, _, err := s.Submit(ctx, n); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Fprint(os.Stdout, "submit "+id+"\n")
			}
		})
	}

	wg.Wait()
	return errors.New("ended before it was killed")
}

func openWithJobs(ctx context.Context, path string) (storetest.Store, error) {
	return openStore(ctx, path, &storetest.Jobs{})
}

// childOutOfRoom submits until no file of the process may grow any more, and again after
// the limit is lifted.
func childOutOfRoom(ctx context.Context, path, _ string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}

	s, err := openWithJobs(ctx, path)
	if err != nil {
		return err
	}

	acknowledged := 0
	submit := func() error {
		_, created, err := s.Submit(ctx, storetest.Lead(acknowledged))
		if err == nil && !created {
			return errors.New("a refused lead was stored after all")
		}
		if err == nil {
			acknowledged++
		}
		return err
	}

	counted := func() error {
		counts, err := s.CountWork(ctx, store.Filter{})
		if n := store.NumberOf(counts); err != nil || n != acknowledged {
			return fmt.Errorf("%d leads are stored, %d were acknowledged (%w)", n, acknowledged, err)
		}
		return nil
	}

	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
		&syscall.Rlimit{Cur: 256 << 10, Max: was.Max}); err != nil {
		return err
	}

	// A small write may still fit when a larger one does not, so each kind is repeated
	// until it fails.
	for _, write := range []func() error{
		submit,
		func() error { return s.Track(ctx, storetest.Visit("full", storetest.When())) },
		func() error { return s.Ping(ctx) },
	} {
		for err = nil; err == nil && acknowledged < 10_000; {
			err = write()
		}
		if !errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("without room, after %d leads: want ErrUnavailable, got %w",
				acknowledged, err)
		}
	}
	if err := counted(); err != nil {
		return err
	}

	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	for range 500 {
		if err := submit(); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
	}
	return errors.Join(counted(), s.Close())
}

// lines yields the lines of r, except for a last line that was cut short.
func lines(r io.Reader) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for b := bufio.NewReader(r); ; {
			line, err := b.ReadString('\n')
			if err != nil || !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}
