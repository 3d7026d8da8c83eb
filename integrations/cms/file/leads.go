package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

// Put stores a lead as <Dir>/cms/<_id>.json. When it returns nil, the file is on disk.
func (d *Driver) Put(ctx context.Context, s *lead.Lead) error {
	const op = "storing a lead"
	path, err := d.file(ctx, op, s.ID)
	if err != nil {
		return err
	}

	d.putting.Lock()
	defer d.putting.Unlock()
	document := cms.NewLeadDocument(s)
	stored, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = atomicfile.WriteJSON(path, document)
	case err == nil && document.Withdrawn():
		err = replaceConsents(path, stored, document.Consents)
	}
	return fail(op, err)
}

// replaceConsents updates the consents of a stored document and keeps its other fields.
func replaceConsents(path string, stored []byte, consents []cms.Consent) error {
	var fields map[string]any
	if err := json.Unmarshal(stored, &fields); err != nil {
		return fmt.Errorf("decoding the document: %w", err)
	}
	fields["consents"] = consents
	return atomicfile.WriteJSON(path, fields)
}

// Missing returns the ids that have no file.
func (d *Driver) Missing(ctx context.Context, ids []string) ([]string, error) {
	const op = "looking up leads"
	missing := []string{}
	for _, id := range ids {
		path, err := d.file(ctx, op, id)
		if err != nil {
			return nil, err
		}

		switch _, err = os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, id)
		case err != nil:
			return nil, fail(op, err)
		}
	}

	return missing, nil
}

// Find reads all files. A damaged file matches if it contains the address, so it is
// erased like the others.
func (d *Driver) Find(ctx context.Context, email string) ([]string, error) {
	const op = "looking up leads by e-mail address"
	found := []string{}
	if err := ctx.Err(); err != nil {
		return nil, fail(op, err)
	}
	if email = strings.ToLower(strings.TrimSpace(email)); email == "" {
		return found, nil
	}

	paths, err := atomicfile.Match(d.leads(), cms.LeadDocumentID("*.json"))
	if err != nil {
		return nil, fail(op, err)
	}
	written, err := json.Marshal(email) // the address as stored: quoted and escaped
	if err != nil {
		return nil, fail(op, err)
	}

	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // erased in the meantime
		}
		if err != nil {
			return nil, fail(op, err)
		}

		var document cms.LeadDocument
		_ = json.Unmarshal(data, &document) // a damaged file yields no address
		stored := document.Contact.Email
		if strings.EqualFold(stored, email) || stored == "" && bytes.Contains(bytes.ToLower(data), written) {
			name := filepath.Base(path)
			found = append(found,
				strings.TrimSuffix(strings.TrimPrefix(name, cms.LeadDocumentID("")), ".json"))
		}
	}
	return found, nil
}

// Erase removes the files of the ids.
func (d *Driver) Erase(ctx context.Context, ids []string) error {
	const op = "erasing leads"
	for _, id := range ids {
		path, err := d.file(ctx, op, id)
		if err != nil {
			return err
		}

		if err := atomicfile.Remove(path); err != nil {
			return fail(op, err)
		}
	}

	return nil
}

// file returns the path of a lead's file. It rejects an id that could escape the folder,
// and fails if ctx is done.
func (d *Driver) file(ctx context.Context, op, id string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fail(op, err)
	}
	if err := cms.CheckLeadID(id); err != nil {
		return "", &upstream.Error{System: "file", Op: op, Kind: upstream.Rejected, Err: err}
	}
	return filepath.Join(d.leads(), cms.LeadDocumentID(id)+".json"), nil
}
