// Package file is the mail driver for development: it writes each mail to an .eml file
// that mail programs can open.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/eml"
	"siteapi/integrations/upstream"
)

// Driver writes mails to a folder.
type Driver struct{ dir string }

// Open returns a driver that writes to a folder. The driver creates the folder when it
// needs it.
func Open(dir string) *Driver { return &Driver{dir} }

// Send implements [mail.Sender]. A repeated mail replaces its file.
func (d *Driver) Send(ctx context.Context, m *mail.Message) error {
	const op = "writing a mail"
	data, err := eml.Encode(m)
	if err != nil {
		return &upstream.Error{System: "file", Op: op, Kind: upstream.Rejected, Detail: err.Error()}
	}

	if err = ctx.Err(); err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	if err == nil && m.HandOver != nil {
		err = m.HandOver()
	}
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(d.dir, m.Name+".eml"), data)
	}
	return failure(op, err)
}

// Check verifies that the folder is writable.
func (d *Driver) Check(context.Context) (string, error) {
	ping := filepath.Join(d.dir, ".ping")
	err := os.MkdirAll(d.dir, 0o700)
	if err == nil {
		err = errors.Join(os.WriteFile(ping, nil, 0o600), os.Remove(ping))
	}
	return "mails are written to " + d.dir, failure("writing to the mail folder", err)
}

// Count returns the number of mails about leads.
func (d *Driver) Count(leads []string) (int, error) {
	found, err := d.find(leads)
	return len(found), err
}

// Erase removes the mails about leads and returns their number.
func (d *Driver) Erase(leads []string) (removed int, err error) {
	found, err := d.find(leads)
	for _, path := range found {
		if err := atomicfile.Remove(path); err != nil {
			return removed, failure("erasing mails", err)
		}
		removed++
	}
	return removed, err
}

// find returns the files of leads. Their names begin with the id of a lead.
func (d *Driver) find(leads []string) (found []string, err error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		for _, id := range leads {
			if id != "" && strings.HasPrefix(entry.Name(), id+"-") {
				found = append(found, filepath.Join(d.dir, entry.Name()))
			}
		}
	}
	return found, failure("listing mails", err)
}

// failure wraps an error of the file system. These errors contain no personal data.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := upstream.Unavailable
	if errors.Is(err, fs.ErrPermission) {
		kind = upstream.Refused
	}
	return &upstream.Error{System: "file", Op: op, Kind: kind, Err: fmt.Errorf("the mail folder: %w", err)}
}
