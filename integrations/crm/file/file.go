// Package file is the CRM driver that needs no CRM: a folder with one JSON file per
// contact, named by a digest of the lower-cased e-mail address so that no name gives
// personal data away.
//
// Every change is written to a temporary file, synced and renamed, so a reader or a
// power cut never meets half a contact. A lock file makes read, merge and write one
// step among all processes on the folder; it is advisory and unreliable on some
// network file systems, so the folder belongs on a local disk. All writers of a folder
// take turns: some hundred contacts a second, enough for the small site this is for.
//
// Outcomes: a lead without a usable address, or a contact file that someone damaged,
// is Rejected; a folder that may not be written is Refused; everything else, a full
// disk included, is Unavailable.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// Options of [Open].
type Options struct {
	Dir string // folder of the contacts; made where it is missing
}

// Driver keeps contacts in a folder. It is safe for concurrent use.
type Driver struct {
	dir  string
	turn chan struct{} // held by the goroutine that wants the folder's lock
}

var _ crm.Contacts = (*Driver)(nil)

// Open returns a driver over a folder, which it makes if need be.
func Open(o Options) (*Driver, error) {
	if o.Dir == "" {
		return nil, errors.New("opening the contacts: no folder given")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of contacts: %w", err)
	}
	return &Driver{dir: o.Dir, turn: make(chan struct{}, 1)}, nil
}

// Upsert merges the lead into the contact with its address.
func (d *Driver) Upsert(ctx context.Context, l crm.Lead) error {
	const op = "storing the contact"
	email := l.Submission.Contact.Email
	if !crm.Addressable(email) {
		return &upstream.Error{System: "file", Op: op, Kind: upstream.Rejected, Detail: "the lead has no e-mail address"}
	}
	return d.locked(ctx, op, func() error {
		path := d.path(email)
		held, err := read(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		changes := crm.Changes(l, held)
		if len(changes) == 0 {
			return nil
		}
		if held == nil {
			held = map[string]string{}
		}
		maps.Copy(held, changes)
		return write(path, held)
	})
}

// Missing returns the addresses without a contact.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	const op = "looking contacts up"
	var missing []string
	for _, email := range emails {
		if err := ctx.Err(); err != nil {
			return nil, failure(op, err)
		}
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
	return d.locked(ctx, "erasing the contact", func() error {
		return remove(d.path(email))
	})
}

// Ping proves that the folder can be written.
func (d *Driver) Ping(ctx context.Context) error {
	return d.locked(ctx, "writing to the folder of contacts", func() error {
		probe := filepath.Join(d.dir, ".ping")
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			return err
		}
		return os.Remove(probe)
	})
}

// Contact returns the properties of the contact with this address, or an error that
// is fs.ErrNotExist.
func (d *Driver) Contact(email string) (map[string]string, error) {
	return read(d.path(email))
}

// Count returns the number of contacts.
func (d *Driver) Count() (int, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return 0, fmt.Errorf("listing the contacts: %w", err)
	}
	n := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) == extension {
			n++
		}
	}
	return n, nil
}
