// Package file is the driver for a site without a CMS: content comes from a JSON file in
// Sanity's document format, and leads are stored as files.
//
// The content file contains an array of documents, or consecutive documents as written by
// `sanity dataset export`. It is read again after each change. If the file cannot be read
// or parsed, the earlier content remains in use; an entry that is not a document is
// skipped. Both cases are logged. References to other documents are not resolved.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// Options are the parameters of [Open].
type Options struct {
	// Path is the content file. If Sample is set and the file does not exist, Open writes
	// the sample content to it.
	Path   string
	Sample bool
	// ProjectID and Dataset identify the content lake of Sanity from which the content was
	// exported, if it was. They give the addresses of its pictures.
	ProjectID, Dataset string
	// Dir is the data folder. Leads are stored in its subfolder "cms".
	Dir string
	// Log reports problems with the content file.
	Log zerolog.Logger
}

// Driver implements every interface of package cms except cms.WebhookSetup.
type Driver struct {
	Options

	putting sync.Mutex // held while a lead is written

	mu        sync.Mutex     // guards the fields below
	docs      []cms.Document // documents of the last usable content file
	malformed []error        // its entries that are left out
	sum       string         // digest of the file's text when docs were parsed
}

// Open reads the content and creates the folder for leads. It fails if the content file
// cannot be used.
func Open(opts Options) (*Driver, error) {
	d := &Driver{Options: opts}
	if err := os.MkdirAll(d.leads(), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder for leads: %w", err)
	}

	if opts.Sample {
		if err := d.writeSample(); err != nil {
			return nil, fmt.Errorf("writing the sample content: %w", err)
		}
	}

	if _, err := d.read(); err != nil {
		return nil, fmt.Errorf("reading the content file %s: %w", d.Path, err)
	}

	return d, nil
}

// leads returns the folder with the leads.
func (d *Driver) leads() string { return filepath.Join(d.Dir, "cms") }

// writeSample writes the sample content if the content file does not exist.
func (d *Driver) writeSample() error {
	if _, err := os.Stat(d.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.Log.Warn().
		Str("file", d.Path).
		Msg("serving sample content: edit this file, or set CMS_FILE or CMS_DRIVER")
	return atomicfile.WriteFile(d.Path, sample)
}

// Ping checks that the current content file can be used.
func (d *Driver) Ping(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		_, err = d.read()
	}
	return fail("checking the content file", err)
}

// fail wraps a file system error, if any. Its kind is Unavailable, because the cause may
// be temporary, such as a full disk.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &upstream.Error{System: "file", Op: op, Kind: upstream.Unavailable, Err: err}
}
