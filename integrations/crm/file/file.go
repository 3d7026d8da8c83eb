// Package file is the driver for a site without a CRM: a folder with one JSON file per
// contact, and below it one with a JSON file per deal. Contacts are named by a digest of
// the e-mail address and deals by the lead's id, so the names contain no personal data. A
// lock file makes read, merge and write atomic across processes. It is
// unreliable on some network file systems, so the folder must be on a local disk.
//
// A lead without a usable address or with a damaged contact file is Rejected. A folder
// without write permission is Refused. All other failures, such as a full disk, are
// Unavailable.
package file

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
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Driver implements crm.Contacts, crm.Lookup and crm.Eraser.
type Driver struct{ dir string }

// Open returns a driver for a folder, and creates it if it is missing.
func Open(dir string) (*Driver, error) {
	if err := os.MkdirAll(filepath.Join(dir, deals), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of contacts: %w", err)
	}
	return &Driver{dir}, nil
}

// Upsert merges the lead into the contact with its address.
func (d *Driver) Upsert(ctx context.Context, l crm.Contact) error {
	const op = "storing the contact"
	email := l.Lead.Contact.Email
	if !crm.Addressable(email) {
		return &upstream.Error{
			System: "file",
			Op:     op,
			Kind:   upstream.Rejected,
			Detail: "the lead has no e-mail address",
		}
	}

	return d.locked(ctx, op, func() error {
		contact, err := d.Contact(email)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := write(d.path(email), contact, crm.Changes(l, contact)); err != nil {
			return err
		}
		return d.upsertDeal(l)
	})
}

// write merges changes into the properties of a file, unless they change nothing.
func write(path string, properties, changes map[string]string) error {
	merged := map[string]string{}
	maps.Copy(merged, properties)
	maps.Copy(merged, changes)
	maps.DeleteFunc(merged, func(_, value string) bool { return value == "" })
	if maps.Equal(merged, properties) {
		return nil
	}

	return atomicfile.WriteJSON(path, merged)
}

// Missing returns the addresses without a contact.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	const op = "looking up contacts"
	if err := ctx.Err(); err != nil {
		return nil, failure(op, err)
	}

	var missing []string
	for _, email := range emails {
		switch _, err := os.Stat(d.path(email)); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, email)
		case err != nil:
			return nil, failure(op, err)
		}
	}

	return missing, nil
}

// Erase removes the contact with this address.
func (d *Driver) Erase(ctx context.Context, email string) error {
	return d.locked(ctx, "erasing the contact", func() error { return atomicfile.Remove(d.path(email)) })
}

// Ping checks that the folder is writable.
func (d *Driver) Ping(ctx context.Context) error {
	return d.locked(ctx, "writing to the folder of contacts", func() error {
		ping := filepath.Join(d.dir, ".ping")
		return errors.Join(os.WriteFile(ping, nil, 0o600), os.Remove(ping))
	})
}

// errDamaged means that a file is not in the driver's format.
var errDamaged = errors.New("the file is damaged: repair or move it")

// Contact returns the properties of the contact with this address. If it does not exist,
// the error is fs.ErrNotExist.
func (d *Driver) Contact(email string) (map[string]string, error) { return read(d.path(email)) }

func read(path string) (properties map[string]string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &properties) != nil || len(properties) == 0 {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), errDamaged)
	}
	return properties, nil
}

func (d *Driver) path(email string) string {
	return filepath.Join(d.dir, fmt.Sprintf("%x.json", sha256.Sum256([]byte(crm.Address(email)))))
}

// locked runs f with exclusive access to the folder.
func (d *Driver) locked(ctx context.Context, op string, f func() error) error {
	lock := flock.New(filepath.Join(d.dir, ".lock"), flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(ctx, 5*time.Millisecond)
	if err == nil {
		err = f()
	}

	if err = errors.Join(err, lock.Close()); err != nil {
		return failure(op, err)
	}
	return nil
}

// failure translates a file system error. Paths contain only digests, so the cause is
// free of personal data.
func failure(op string, err error) error {
	kind := upstream.Unavailable
	switch {
	case errors.Is(err, errDamaged):
		kind = upstream.Rejected
	case errors.Is(err, fs.ErrPermission):
		kind = upstream.Refused
	}
	return &upstream.Error{System: "file", Op: op, Kind: kind, Err: err}
}
