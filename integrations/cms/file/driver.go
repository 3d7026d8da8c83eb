// Package file is the CMS of a site that has none yet: content comes from a JSON file
// in Sanity's document shapes, and submissions are stored as files.
//
// The content file holds an array of documents, an object {"documents": […]}, or one
// document per line as `sanity dataset export` writes them. It is read again whenever it
// changes. A file that can't be read or parsed then leaves the content as it was, an entry
// that is no document is left out, and
// the trouble is logged once.
//
// Known limits: references between documents are not followed except those to image
// assets; and submissions are found by their id only, so a folder with a million of
// them is no place to browse.
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
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// system is the driver's name in errors.
const system = "file"

// Options says where content and submissions are.
type Options struct {
	// Path is the content file. Empty: the embedded sample, which never changes.
	Path string
	// Dir is the data folder; submissions are stored in its sub-folder "cms", which is
	// made if need be, readable by this user only.
	Dir string
	// Log is told of content that can't be read and of documents that are not served.
	Log zerolog.Logger
	// LanguageField names the field with a document's language. Empty: cms.LanguageField.
	LanguageField string
	// AssetURL returns the address of an asset that the content file does not hold
	// itself, by its id. nil: those have no address.
	AssetURL func(ref string) string
	// Debounce is how long the content file must have been quiet before a change is
	// looked at. 0: 100 ms.
	Debounce time.Duration
	// Poll is how often the content file is looked at besides, for file systems that
	// report no changes. 0: every second.
	Poll time.Duration
}

// Driver implements cms.Content, cms.Watcher and cms.Submissions.
type Driver struct {
	opts Options
	dir  string // of submissions

	mu       sync.Mutex // guards what follows
	docs     []cms.Document
	good     [sha256.Size]byte // of the content that docs came from
	revision int               // counts the changes of docs
	state    state             // of the content file when it was last read
	broken   string            // the trouble with the file as it is now; empty: none
}

var (
	_ cms.Content     = (*Driver)(nil)
	_ cms.Watcher     = (*Driver)(nil)
	_ cms.Submissions = (*Driver)(nil)
)

// Open reads the content and prepares the folder of submissions. Content that can't be
// used is an error here, with file, line and column.
func Open(opts Options) (*Driver, error) {
	if opts.Dir == "" {
		return nil, errors.New("opening the file CMS: no data folder is named")
	}
	if opts.Debounce <= 0 {
		opts.Debounce = 100 * time.Millisecond
	}
	if opts.Poll <= 0 {
		opts.Poll = time.Second
	}
	d := &Driver{opts: opts, dir: filepath.Join(opts.Dir, "cms")}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of submissions: %w", err)
	}
	d.sweep()
	if err := d.load(); err != nil {
		return nil, err
	}
	return d, nil
}

// Ping looks whether the content file can be used as it is now and submissions can be
// stored.
func (d *Driver) Ping(ctx context.Context) error {
	const op = "looking at content and folder"
	if err := ctx.Err(); err != nil {
		return fail(op, err)
	}
	if d.opts.Path != "" {
		if _, err := os.Stat(d.opts.Path); err != nil {
			return fail(op, err)
		}
	}
	d.refresh()
	d.mu.Lock()
	broken := d.broken
	d.mu.Unlock()
	if broken != "" {
		return fail(op, errors.New(broken))
	}
	probe, err := os.CreateTemp(d.dir, tempPrefix)
	if err != nil {
		return fail(op, err)
	}
	return orNil(op, errors.Join(probe.Close(), os.Remove(probe.Name())))
}

// fail translates an error of the file system. A missing permission stays until an
// operator acts; all else, such as a full disk, may pass.
func fail(op string, err error) *upstream.Error {
	kind := upstream.Unavailable
	if errors.Is(err, fs.ErrPermission) {
		kind = upstream.Refused
	}
	return &upstream.Error{System: system, Op: op, Kind: kind, Err: err}
}

// orNil is fail where err is one, and a nil interface where it is none.
func orNil(op string, err error) error {
	if err == nil {
		return nil
	}
	return fail(op, err)
}
