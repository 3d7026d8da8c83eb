package file

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"time"

	"siteapi/integrations/cms"
)

const (
	// maxContent is how large a content file may be.
	maxContent = 64 << 20
	// settleTime is how long after its last change a file is taken to have been read
	// whole: within it, a change may leave size and time as they were.
	settleTime = 2 * time.Second
)

// state is what the content file was like when it was last read.
type state struct {
	info    os.FileInfo // nil: it could not be read
	sum     [sha256.Size]byte
	settled bool // the same size and time mean the same content
}

// Fetch returns the documents a query names. It looks at the file first, so that an
// answer is never older than the file.
func (d *Driver) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("reading the content", err)
	}
	d.refresh()
	d.mu.Lock()
	docs := d.docs
	d.mu.Unlock()
	found := []cms.Document{}
	for _, doc := range docs {
		if q.Matches(doc) {
			found = append(found, doc)
		}
	}
	return found, nil
}

// load reads the content for the first time.
func (d *Driver) load() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opts.Path == "" {
		docs, _, err := parse(sample, d.decoder())
		if err != nil {
			return fmt.Errorf("reading the embedded sample: %w", err)
		}
		d.docs = docs
		return nil
	}
	next, data, err := read(d.opts.Path)
	if err != nil {
		return fmt.Errorf("reading the content file: %w", err)
	}
	docs, malformed, err := parse(data, d.decoder())
	if err != nil {
		return fmt.Errorf("reading the content file %s: %w", d.opts.Path, err)
	}
	d.docs, d.state, d.good = docs, next, next.sum
	d.report(docs, malformed)
	return nil
}

// refresh reads the content file again if it has changed, and returns the number of
// changes so far. What can't be used leaves the content as it was.
func (d *Driver) refresh() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opts.Path == "" {
		return d.revision
	}
	info, err := os.Stat(d.opts.Path)
	if err == nil && d.state.settled && sameFile(info, d.state.info) {
		return d.revision
	}
	next, data, err := read(d.opts.Path)
	if err != nil {
		d.state = state{}
		d.trouble(err)
		return d.revision
	}
	d.state = next
	if next.sum != d.good {
		docs, malformed, err := parse(data, d.decoder())
		if err != nil {
			d.trouble(err)
			return d.revision
		}
		d.docs, d.good = docs, next.sum
		d.revision++
		d.report(docs, malformed)
	}
	if d.broken != "" {
		d.broken = ""
		d.opts.Log.Info().Str("file", d.opts.Path).Msg("the content file can be read again")
	}
	return d.revision
}

// trouble logs what is wrong with the file, once for each new trouble.
func (d *Driver) trouble(err error) {
	if text := err.Error(); text != d.broken {
		d.broken = text
		d.opts.Log.Error().Err(err).Str("file", d.opts.Path).
			Msg("the content file can't be used; the content stays as it was")
	}
}

// report logs what of a content file is not served: malformed entries, and documents that
// are private by their id.
func (d *Driver) report(docs []cms.Document, malformed []error) {
	for _, err := range malformed {
		d.opts.Log.Warn().Err(err).Str("file", d.opts.Path).Msg("leaving out a malformed entry of the content file")
	}
	n := 0
	for _, doc := range docs {
		if !cms.IsPublic(doc.ID) {
			n++
		}
	}
	if n > 0 {
		d.opts.Log.Info().Str("file", d.opts.Path).Int("documents", n).
			Msg("documents with a dot in their id (drafts, versions, private ones) are not served")
	}
}

func (d *Driver) decoder() cms.Decoder {
	return cms.Decoder{LanguageField: d.opts.LanguageField, AssetURL: d.opts.AssetURL}
}

// read reads a file with what tells it from another.
func read(path string) (state, []byte, error) {
	// Opening a pipe would wait for its other end.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return state{}, nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return state{}, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return state{}, nil, err
	}
	settled := time.Since(info.ModTime()) > settleTime
	data, err := io.ReadAll(io.LimitReader(f, maxContent+1))
	if err != nil {
		return state{}, nil, err
	}
	if len(data) > maxContent {
		return state{}, nil, fmt.Errorf("%s is larger than %d MiB", path, maxContent>>20)
	}
	return state{info: info, sum: sha256.Sum256(data), settled: settled}, data, nil
}

// sameFile reports whether two looks saw the same file in the same state.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
