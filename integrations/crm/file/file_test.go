package file_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/file"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

const ana = "ana@example.com"

func open(t testing.TB, dir string) *file.Driver {
	t.Helper()
	d, err := file.Open(file.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestContacts(t *testing.T) {
	t.Parallel()
	crmtest.Run(t, func(t *testing.T) crmtest.Subject {
		d := open(t, filepath.Join(t.TempDir(), "made", "crm"))
		return crmtest.Subject{
			Contacts: d,
			Contact: func(email string) (map[string]string, bool) {
				c, err := d.Contact(email)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("reading the contact: %v", err)
				}
				return c, err == nil
			},
			Count: func() int {
				n, err := d.Count()
				if err != nil {
					t.Error(err)
				}
				return n
			},
		}
	})
}

func TestOpenNeedsAFolder(t *testing.T) {
	t.Parallel()
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", taken} {
		if _, err := file.Open(file.Options{Dir: dir}); err == nil {
			t.Errorf("opening %q succeeded", dir)
		}
	}
}

func TestNothingPersonalInNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	if err := d.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name(), "ana") || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// TestRepeatDoesNotWrite makes sure that a repeated lead costs no write.
func TestRepeatDoesNotWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	stat := func() os.FileInfo {
		if err := d.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(contactFile(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if first, second := stat(), stat(); !os.SameFile(first, second) {
		t.Error("the file was replaced")
	}
}

func TestDamagedContact(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"cut short": `{"email":"ana@example`, "other JSON": `[1]`, "empty": ``, "null": `null`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := open(t, dir)
			lead := crmtest.Lead(ana, nil)
			if err := d.Upsert(context.Background(), lead); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(contactFile(t, dir), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := d.Upsert(context.Background(), lead)
			if err == nil || upstream.KindOf(err) != upstream.Rejected || strings.Contains(err.Error(), "ana@") {
				t.Errorf("upserting: %v", err)
			}
			if err := d.Erase(context.Background(), ana); err != nil {
				t.Errorf("erasing: %v", err)
			}
		})
	}
}

// TestLeftovers makes sure that what a crash left behind neither counts nor stays.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	if err := d.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Fatal(err)
	}
	temp := contactFile(t, dir) + ".tmp"
	if err := os.WriteFile(temp, []byte(`{"email":"ana`), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Count(); n != 1 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	if err := d.Erase(context.Background(), ana); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
}

// TestFolderGone covers a folder that vanished and one whose place a file has taken.
func TestFolderGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crm")
	d := open(t, dir)
	for _, change := range []func() error{
		func() error { return os.RemoveAll(dir) },
		func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for op, err := range map[string]error{
			"Upsert": d.Upsert(context.Background(), crmtest.Lead(ana, nil)),
			"Ping":   d.Ping(context.Background()),
			"Erase":  d.Erase(context.Background(), ana),
		} {
			var e *upstream.Error
			if !errors.As(err, &e) || e.Kind != upstream.Unavailable {
				t.Errorf("%s: %v, want unavailable", op, err)
			}
		}
	}
}

// TestWaitsForTheLock holds the lock in one driver and makes sure that another gives
// up with its context.
func TestWaitsForTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release := holdLock(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	err := open(t, dir).Upsert(ctx, crmtest.Lead(ana, nil))
	if !errors.Is(err, context.DeadlineExceeded) || upstream.KindOf(err) != upstream.Unavailable {
		t.Errorf("upserting: %v", err)
	}
	release()
	if err := open(t, dir).Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Errorf("upserting after the release: %v", err)
	}
}

// TestSeveralProcesses lets processes of their own merge into the same contacts.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	const processes, leads = 4, 25
	dir := t.TempDir()
	var running []*exec.Cmd
	for p := range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWorker$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("CRM_FILE_WORKER=%d", p), "CRM_FILE_DIR="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("worker: %v", err)
		}
	}
	d := open(t, dir)
	if n, err := d.Count(); n != 2 || err != nil {
		t.Errorf("there are %d contacts, %v; want 2", n, err)
	}
	for _, email := range []string{ana, "b@example.com"} {
		c, err := d.Contact(email)
		if want := fmt.Sprint((leads-1)*processes + processes - 1); err != nil || c["quote_min"] != want {
			t.Errorf("%s: quote_min is %q, %v; want the newest, %s", email, c["quote_min"], err, want)
		}
	}
}

// TestWorker is one of the processes of TestSeveralProcesses and nothing otherwise.
func TestWorker(t *testing.T) {
	var p int
	if _, err := fmt.Sscan(os.Getenv("CRM_FILE_WORKER"), &p); err != nil {
		return
	}
	d := open(t, os.Getenv("CRM_FILE_DIR"))
	for i := 24; i >= 0; i-- { // newest first, so that a lost guard shows
		for _, email := range []string{ana, "B@example.com"} {
			n := i*4 + p
			err := d.Upsert(context.Background(), crmtest.Lead(email, func(q *quote.Submission) {
				q.Estimate.Min, q.SubmittedAt = float64(n), q.SubmittedAt.Add(time.Duration(n)*time.Second)
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
