package file_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/file"
	"siteapi/integrations/upstream"
)

func open(t *testing.T, dir string) *file.Driver {
	t.Helper()
	d, err := file.Open(dir)
	must(t, err)
	return d
}

func upsert(t *testing.T, d *file.Driver) {
	t.Helper()
	_, err := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil))
	must(t, err)
}

// erase erases the contact of the sample lead.
func erase(t *testing.T, d *file.Driver) error {
	_, err := d.EraseContacts(t.Context(), crm.Erasure{Emails: []string{crmtest.Ana}})
	return err
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
		dir := filepath.Join(t.TempDir(), "[created]", "crm")
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
			Deal: func(leadID string) (map[string]string, bool) {
				deal, err := d.Deal(leadID)
				return deal, err == nil
			},
			Add:     func(properties map[string]string) { edit(t, contactPath(dir, properties["email"]), properties) },
			MovedOn: "won",
			Edit: func(key string, properties map[string]string) {
				path := filepath.Join(dir, "deals", key+".json")
				if strings.Contains(key, "@") {
					path = contactPath(dir, key)
				}
				edit(t, path, properties)
			},
			Clone: func(leadID string) string {
				deal, err := d.Deal(leadID)
				delete(deal, "quote_submission_id")
				edit(t, filepath.Join(dir, "deals", leadID+" copy.json"), deal)
				must(t, err)
				return leadID + " copy"
			},
		}
	})
}

func contactPath(dir, email string) string {
	return filepath.Join(dir, fmt.Sprintf("%x.json", sha256.Sum256([]byte(email))))
}

// edit changes properties in a file, as people do.
func edit(t *testing.T, path string, properties map[string]string) {
	t.Helper()
	all := map[string]string{}
	if data, err := os.ReadFile(path); err == nil {
		must(t, json.Unmarshal(data, &all))
	}
	maps.Copy(all, properties)
	data, err := json.Marshal(all)
	must(t, errors.Join(err, os.WriteFile(path, data, 0o600)))
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)

	upsert(t, d)
	before, err := os.Stat(contactFile(t, dir))
	must(t, err)

	upsert(t, d)
	if after, err := os.Stat(contactFile(t, dir)); err != nil || !os.SameFile(before, after) {
		t.Errorf("a repeated lead replaced the file, %v", err)
	}

	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || strings.Contains(e.Name(), "ana") ||
			info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}

	// A temporary file that remains after a crash is erased with the contact.
	temporary := filepath.Join(dir, "."+filepath.Base(contactFile(t, dir))+"123")
	if err := os.WriteFile(temporary, []byte(`{"email":"ana`), 0o600); err != nil {
		t.Fatal(err)
	}

	must(t, erase(t, d))
	if _, err := os.Stat(temporary); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file still exists: %v", err)
	}
}

func TestDamagedContact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	upsert(t, d)
	if err := os.WriteFile(contactFile(t, dir), []byte(`{"email":"ana@example`), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil))
	if err == nil || upstream.KindOf(err) != upstream.Rejected || strings.Contains(err.Error(), "ana@") {
		t.Errorf("upserting: %v", err)
	}
	if err := erase(t, d); err != nil {
		t.Errorf("erasing: %v", err)
	}
}

func TestFolderLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crm")
	d := open(t, dir)
	must(t, errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)))

	noDeals := filepath.Join(t.TempDir(), "crm")
	e := open(t, noDeals)
	lost := filepath.Join(noDeals, "deals")
	must(t, errors.Join(os.RemoveAll(lost), os.WriteFile(lost, nil, 0o600)))

	_, upserting := d.Upsert(t.Context(), crmtest.Contact(crmtest.Ana, nil))
	_, erasing := e.EraseDeals(t.Context(), crm.Erasure{Emails: []string{crmtest.Ana}})
	for op, err := range map[string]error{
		"Upsert": upserting,
		"Ping":   d.Ping(t.Context()),
		"Erase":  erase(t, d),
		"Deals":  erasing,
	} {
		if err == nil || upstream.KindOf(err) != upstream.Unavailable {
			t.Errorf("%s: %v, want unavailable", op, err)
		}
	}
}

func TestLockIsHeldElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)

	lock := flock.New(filepath.Join(dir, ".lock"))
	must(t, lock.Lock())

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := d.Upsert(ctx, crmtest.Contact(crmtest.Ana, nil))
	if !errors.Is(err, context.DeadlineExceeded) || upstream.KindOf(err) != upstream.Unavailable {
		t.Errorf("upserting: %v", err)
	}

	must(t, lock.Close())
	upsert(t, d)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
