// Package file is the CMS of a site that has none yet: content comes from a JSON file in
// Sanity's document shapes, and leads are stored as files.
//
// The content file holds an array of documents, or one document after the other as
// `sanity dataset export` writes them. It is read again whenever it changes. A file
// that cannot be read or parsed leaves the content as it was; an entry that is not a
// document is left out. Both are logged. Links to other documents are not followed.
package file

import (
	"context"
	"crypto/sha256"
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

// Options says where content and leads are.
type Options struct {
	// Path is the content file. With Sample it is written if it does not exist.
	Path   string
	Sample bool
	// Dir is the data folder. Leads go to its sub-folder "cms".
	Dir string
	// Log receives the errors of the content file.
	Log zerolog.Logger
}

// Driver implements every interface of package cms but cms.WebhookSetup.
type Driver struct {
	path string // the content file
	dir  string // the folder of leads
	log  zerolog.Logger

	putting sync.Mutex // held while a lead is written

	mu   sync.Mutex        // guards the fields below
	docs []cms.Document    // documents of the last usable content file
	sum  [sha256.Size]byte // digest of the text that docs were read from
}

// Open reads the content and makes the folder of leads. A content file that cannot
// be used is an error.
func Open(opts Options) (*Driver, error) {
	d := &Driver{path: opts.Path, dir: filepath.Join(opts.Dir, "cms"), log: opts.Log}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of leads: %w", err)
	}

	if opts.Sample {
		if err := d.writeSample(); err != nil {
			return nil, fmt.Errorf("writing the sample content: %w", err)
		}
	}

	if _, err := d.read(); err != nil {
		return nil, fmt.Errorf("reading the content file %s: %w", d.path, err)
	}

	return d, nil
}

// writeSample writes the sample content unless there is a content file.
func (d *Driver) writeSample() error {
	if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.log.Warn().
		Str("file", d.path).
		Msg("serving sample content: edit this file, or set CMS_FILE or CMS_DRIVER")
	return atomicfile.WriteFile(d.path, sample)
}

// Ping checks that the content file can be used as it is now.
func (d *Driver) Ping(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		_, err = d.read()
	}
	return fail("checking the content file", err)
}

// fail translates an error of the file system, if there is one. It may pass, as on a full disk.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &upstream.Error{System: "file", Op: op, Kind: upstream.Unavailable, Err: err}
}
