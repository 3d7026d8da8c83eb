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
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
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

// propWriters lists the ids of the leads that a contact has shown, for erasures.
const propWriters = "quote_submission_ids"

// Upsert merges the lead into the contact with its address. Records are named by their files.
func (d *Driver) Upsert(ctx context.Context, l crm.Contact) (made lead.Records, err error) {
	const op = "storing the contact"
	email := l.Lead.Contact.Email
	if !crm.Addressable(email) || l.Lead.ID == "" {
		return made, &upstream.Error{
			System: "file",
			Op:     op,
			Kind:   upstream.Rejected,
			Detail: "the lead has no e-mail address",
		}
	}

	err = d.locked(ctx, op, func() error {
		contact, err := read(d.path(email))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		changes := crm.Changes(l, contact)
		if id := changes[crm.PropLeadID]; id != "" && !strings.Contains(contact[propWriters], id) {
			changes[propWriters] = strings.TrimSpace(contact[propWriters] + " " + id)
		}
		if err := write(d.path(email), contact, changes); err != nil {
			return err
		}

		made.Contact.ID = named(d.path(email))
		if err := d.upsertDeal(l); err != nil {
			return err
		}
		made.Deal.ID = l.Lead.ID
		return nil
	})
	return made, err
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
		case errors.Is(err, fs.ErrNotExist), !crm.Addressable(email):
			missing = append(missing, email)
		case err != nil:
			return nil, failure(op, err)
		}
	}

	return missing, nil
}

// EraseContacts deletes contacts, or removes the quote from them. A damaged file with one of
// the person's addresses is deleted.
func (d *Driver) EraseContacts(ctx context.Context, e crm.Erasure) (all []crm.Erased, err error) {
	emails := map[string]string{} // by the path
	for _, records := range e.Leads {
		if id := records.Contact.ID; id != "" {
			emails[filepath.Join(d.dir, filepath.Base(id)+".json")] = ""
		}
	}
	for _, email := range slices.Concat(e.Emails, e.Typed) {
		if crm.Addressable(email) {
			emails[d.path(email)] = crm.Address(email)
		}
	}

	err = d.locked(ctx, "erasing contacts", func() error {
		for _, path := range slices.Sorted(maps.Keys(emails)) {
			contact, err := d.eraseContact(e, path, emails[path])
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if contact.Fate != crm.Foreign {
				all = append(all, contact)
			}
		}
		return nil
	})
	return all, err
}

// eraseContact erases the contact in a file that is named by an address, if that is known.
func (d *Driver) eraseContact(e crm.Erasure, path, email string) (crm.Erased, error) {
	properties, err := read(path)
	contact := crm.Erased{ID: named(path), Fate: crm.Deleted}
	var changes map[string]string
	if err == nil {
		contact.Emails = []string{crm.Address(properties[crm.PropEmail]), email}
		contact.Fate, changes = e.Contact(crm.StoredContact{
			Properties: properties,
			Emails:     contact.Emails,
			Writers:    strings.Fields(properties[propWriters]),
		})
	} else if !errors.Is(err, errDamaged) || !slices.Contains(e.Emails, email) {
		return crm.Erased{}, err
	}

	switch {
	case e.DryRun:
		return contact, nil
	case contact.Fate == crm.Deleted:
		return contact, atomicfile.Remove(path)
	}
	return contact, write(path, properties, changes)
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
func (d *Driver) Contact(email string) (map[string]string, error) {
	properties, err := read(d.path(email))
	delete(properties, propWriters)
	return properties, err
}

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

// named returns the name of a record: that of its file.
func named(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") }

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
