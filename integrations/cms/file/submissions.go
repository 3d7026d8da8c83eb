package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".writing-"

// Put stores a submission as <Dir>/cms/<_id>.json. When it returns nil the file is on
// the disk whole; a crash leaves either all of it or nothing.
func (d *Driver) Put(ctx context.Context, s *quote.Submission) error {
	const op = "storing a submission"
	if err := ctx.Err(); err != nil {
		return fail(op, err)
	}
	path, err := d.path(s.ID)
	if err != nil {
		return rejected(op, err)
	}
	if _, err := os.Stat(path); err == nil {
		// An earlier try may have been cut short before the folder was on the disk.
		return orNil(op, syncDir(d.dir))
	}
	data, err := json.MarshalIndent(cms.Stored(s), "", "  ")
	if err != nil {
		return rejected(op, errors.New("the submission can't be written as JSON"))
	}
	return orNil(op, d.write(path, append(data, '\n')))
}

// Missing returns those of the ids that have no file.
func (d *Driver) Missing(ctx context.Context, ids []string) ([]string, error) {
	const op = "looking for submissions"
	missing := []string{}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, fail(op, err)
		}
		path, err := d.path(id)
		if err != nil {
			return nil, rejected(op, err)
		}
		_, err = os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, id)
		case err != nil:
			return nil, fail(op, err)
		}
	}
	return missing, nil
}

// Find reads all files. One that someone damaged counts as found where the address
// stands in it, so that it is erased like the others.
func (d *Driver) Find(ctx context.Context, email string) ([]string, error) {
	const op = "looking for submissions of an address"
	found := []string{}
	if err := ctx.Err(); err != nil {
		return nil, fail(op, err)
	}
	if email = strings.ToLower(strings.TrimSpace(email)); email == "" {
		return found, nil
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fail(op, err)
	}
	for _, entry := range entries {
		id, ours := strings.CutPrefix(entry.Name(), cms.SubmissionID(""))
		id, isJSON := strings.CutSuffix(id, ".json")
		if !ours || !isJSON {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fail(op, err)
		}
		data, err := os.ReadFile(filepath.Join(d.dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // erased meanwhile
		}
		if err != nil {
			return nil, fail(op, err)
		}
		var doc cms.StoredSubmission
		is := json.Unmarshal(data, &doc) == nil && strings.ToLower(doc.Contact.Email) == email
		if is || doc.Contact.Email == "" && strings.Contains(strings.ToLower(string(data)), email) {
			found = append(found, id)
		}
	}
	return found, nil
}

// Erase removes the files of the ids.
func (d *Driver) Erase(ctx context.Context, ids []string) error {
	const op = "erasing submissions"
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return fail(op, err)
		}
		path, err := d.path(id)
		if err != nil {
			return rejected(op, err)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(op, err)
		}
	}
	return orNil(op, syncDir(d.dir))
}

// path is where a submission is stored. An id that could lead out of the folder, or
// that the CMS would not take, is refused.
func (d *Driver) path(id string) (string, error) {
	if err := cms.CheckSubmissionID(id); err != nil {
		return "", err
	}
	return filepath.Join(d.dir, cms.SubmissionID(id)+".json"), nil
}

// write makes a file appear whole or not at all, and on the disk.
func (d *Driver) write(path string, data []byte) error {
	f, err := os.CreateTemp(d.dir, tempPrefix) // readable by this user only
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(d.dir)
}

// syncDir brings the names in a folder to the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sweep removes what a crash left half-written. Young files may be another process's.
func (d *Driver) sweep() {
	left, _ := filepath.Glob(filepath.Join(d.dir, tempPrefix+"*"))
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(path)
		}
	}
}

// rejected is an error that repeating can't mend.
func rejected(op string, err error) *upstream.Error {
	return &upstream.Error{System: system, Op: op, Kind: upstream.Rejected, Err: err}
}
