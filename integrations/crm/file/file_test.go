package file_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/file"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

func open(t *testing.T, dir string) *file.Driver {
	t.Helper()
	d, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func upsert(t *testing.T, d *file.Driver) {
	t.Helper()
	if err := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil)); err != nil {
		t.Fatal(err)
	}
}

// contactFile returns the file of the only contact.
func contactFile(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files %q, %v", paths, err)
	}
	return paths[0]
}

func TestConformance(t *testing.T) {
	t.Parallel()
	crmtest.Run(t, func(t *testing.T) crmtest.Subject {
		dir := filepath.Join(t.TempDir(), "made", "crm")
		d := open(t, dir)
		return crmtest.Subject{
			Driver: d,
			Contact: func(email string) (map[string]string, bool) {
				c, err := d.Contact(email)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("reading the contact: %v", err)
				}
				return c, err == nil
			},
			Add: func(properties map[string]string) {
				digest := sha256.Sum256([]byte(properties["email"]))
				data, err := json.Marshal(properties)
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, hex.EncodeToString(digest[:])+".json"), data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)

	upsert(t, d)
	before, err := os.Stat(contactFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}

	upsert(t, d)
	if after, err := os.Stat(contactFile(t, dir)); err != nil || !os.SameFile(before, after) {
		t.Errorf("a repeated lead replaced the file, %v", err)
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || strings.Contains(e.Name(), "ana") ||
			info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}

	// A file that a crash left behind is erased with the contact.
	left := filepath.Join(dir, "."+filepath.Base(contactFile(t, dir))+"123")
	if err := os.WriteFile(left, []byte(`{"email":"ana`), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := d.Erase(t.Context(), crmtest.Ana); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file still exists: %v", err)
	}
}

func TestDamagedContact(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"cut short":  `{"email":"ana@example`,
		"other JSON": `[1]`,
		"empty":      ``,
		"null":       `null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := open(t, dir)
			upsert(t, d)
			if err := os.WriteFile(contactFile(t, dir), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}

			err := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil))
			if err == nil || upstream.KindOf(err) != upstream.Rejected ||
				strings.Contains(err.Error(), "ana@") {
				t.Errorf("upserting: %v", err)
			}

			if err := d.Erase(t.Context(), crmtest.Ana); err != nil {
				t.Errorf("erasing: %v", err)
			}
		})
	}
}

func TestFolderLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crm")
	d := open(t, dir)
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	for op, err := range map[string]error{
		"Upsert": d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil)),
		"Ping":   d.Ping(t.Context()),
		"Erase":  d.Erase(t.Context(), crmtest.Ana),
	} {
		if err == nil || upstream.KindOf(err) != upstream.Unavailable {
			t.Errorf("%s: %v, want unavailable", op, err)
		}
	}

	for _, dir := range []string{"", dir} {
		if _, err := file.Open(dir); err == nil {
			t.Errorf("opening %q succeeded", dir)
		}
	}
}

func TestLockIsHeldElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)

	lock := flock.New(filepath.Join(dir, ".lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	err := d.Upsert(ctx, crmtest.Contact(crmtest.Ana, nil))
	if !errors.Is(err, context.DeadlineExceeded) || upstream.KindOf(err) != upstream.Unavailable {
		t.Errorf("upserting: %v", err)
	}

	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	upsert(t, d)
}

// TestSeveralProcesses lets several processes merge into the same contact.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	const processes = 3
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

	c, err := open(t, dir).Contact(crmtest.Ana)
	if want := fmt.Sprint(19*processes + processes - 1); err != nil || c["quote_min"] != want {
		t.Errorf("quote_min is %q, %v; want the newest, %s", c["quote_min"], err, want)
	}
}

// TestWorker is one of the processes of TestSeveralProcesses. It does nothing otherwise.
func TestWorker(t *testing.T) {
	var p int
	if _, err := fmt.Sscan(os.Getenv("CRM_FILE_WORKER"), &p); err != nil {
		return
	}

	d := open(t, os.Getenv("CRM_FILE_DIR"))
	for i := 19; i >= 0; i-- { // newest first, so that a lost guard shows
		n := i*3 + p
		if err := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, func(q *lead.Lead) {
			q.Estimate.Min, q.SubmittedAt = float64(n), q.SubmittedAt.Add(time.Duration(n)*time.Second)
		})); err != nil {
			t.Fatal(err)
		}
	}
}
