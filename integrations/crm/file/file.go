// Package file is the CRM driver that needs no CRM: a folder with one JSON file per
// contact, named by a digest of the e-mail address, so that no file name contains
// personal data. A lock file makes read, merge and write one step among all processes; it
// is unreliable on some network file systems, so the folder belongs on a local disk.
//
// A lead without a usable address, or a damaged contact file, is Rejected; a
// folder without write permission is Refused; everything else, such as a full
// disk, is Unavailable.
package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Driver implements crm.Contacts, crm.Lookup and crm.Eraser.
type Driver struct {
	dir string
	mu  sync.Mutex // held with the lock file, so that one goroutine of a process polls it
}

// Open returns a driver for a folder, which it makes if it is missing.
func Open(dir string) (*Driver, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of contacts: %w", err)
	}
	return &Driver{dir: dir}, nil
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

		changes := crm.Changes(l, contact)
		if len(changes) == 0 {
			return nil
		}

		merged := map[string]string{}
		maps.Copy(merged, contact)
		maps.Copy(merged, changes)
		maps.DeleteFunc(merged, func(_, value string) bool { return value == "" })

		data, err := json.MarshalIndent(merged, "", "  ")
		if err != nil {
			return err
		}
		return atomicfile.WriteFile(d.path(email), append(data, '\n'))
	})
}

// Missing returns the addresses without a contact.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	const op = "looking contacts up"
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

// Ping proves that the folder can be written.
func (d *Driver) Ping(ctx context.Context) error {
	return d.locked(ctx, "writing to the folder of contacts", func() error {
		ping := filepath.Join(d.dir, ".ping")
		return errors.Join(os.WriteFile(ping, nil, 0o600), os.Remove(ping))
	})
}

// errDamaged marks a contact file that this driver did not write.
var errDamaged = errors.New("the contact's file is damaged: repair it or move it away")

// Contact returns the properties of the contact with this address. Without a contact the
// error is fs.ErrNotExist.
func (d *Driver) Contact(email string) (map[string]string, error) {
	data, err := os.ReadFile(d.path(email))
	if err != nil {
		return nil, err
	}
	var contact map[string]string
	if json.Unmarshal(data, &contact) != nil || len(contact) == 0 {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(d.path(email)), errDamaged)
	}
	return contact, nil
}

func (d *Driver) path(email string) string {
	digest := sha256.Sum256([]byte(crm.Address(email)))
	return filepath.Join(d.dir, hex.EncodeToString(digest[:])+".json")
}

// locked runs f while no other goroutine or process changes the folder.
func (d *Driver) locked(ctx context.Context, op string, f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return failure(op, err)
	}

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

// failure translates an error of the file system. Paths contain digests only, so the
// cause is free of personal data.
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
