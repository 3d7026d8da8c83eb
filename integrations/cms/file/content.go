package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/cms"
)

//go:embed sample.json
var sample []byte

// Sample returns the content that is served if no file is configured: site settings with
// localised telephone numbers and a logo that needs no network, a hero section in each
// language, and labels in three languages and a price for the slugs of the calculator.
func Sample() []byte { return bytes.Clone(sample) }

// IsSample reports whether content is the sample, unchanged.
func IsSample(content []byte) bool { return bytes.Equal(content, sample) }

// Check returns why the text of a content file cannot be used, or nil. Entries that would
// be left out are no error.
func Check(content []byte) error {
	_, _, err := parse(content)
	return err
}

// Fetch returns the documents that match a query. The result is never older than the
// file, unless the file cannot be used.
func (d *Driver) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("reading the content", err)
	}

	// The error is logged, and the last good content is served.
	_ = d.read()

	d.mu.Lock()
	defer d.mu.Unlock()
	docs, found := d.docs, []cms.Document{}
	if q.Perspective != "" {
		docs = overlay(d.docs, q.Perspective)
	}
	for _, doc := range docs {
		if q.Matches(doc) {
			found = append(found, doc)
		}
	}

	return found, nil
}

// overlay returns the documents as a perspective shows them, ordered by id: the layers that
// it names lie over the published documents, the first one on top.
func overlay(docs []cms.Document, perspective string) []cms.Document {
	shown, seen := []cms.Document{}, map[string]bool{}
	layers := strings.Split(perspective, ",")
	for i, layer := range layers {
		layers[i] = "versions." + layer + "."
		if layer == "drafts" {
			layers[i] = "drafts."
		}
	}

	for _, prefix := range append(layers, "") {
		for _, doc := range docs {
			id, ok := strings.CutPrefix(doc.ID, prefix)
			if ok && cms.IsPublic(id) && !seen[id] {
				seen[id], doc.ID = true, id
				shown = append(shown, doc)
			}
		}
	}

	slices.SortFunc(shown, func(a, b cms.Document) int { return strings.Compare(a.ID, b.ID) })
	return shown
}

// read loads the content file if it has changed. An error is logged once, and the
// earlier content stays.
func (d *Driver) read() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	if err := d.readLocked(); err != nil {
		if text := err.Error(); text != d.broken {
			d.broken = text
			d.log.Error().
				Err(err).
				Str("file", d.path).
				Msg("cannot use the content file, serving the earlier content")
		}
		return err
	}

	if d.broken != "" {
		d.broken = ""
		d.log.Info().Str("file", d.path).Msg("the content file can be read again")
	}

	return nil
}

func (d *Driver) readLocked() error {
	file, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	// A file that has not changed is not read into memory.
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if [sha256.Size]byte(digest.Sum(nil)) == d.sum {
		return nil
	}

	data, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	docs, malformed, err := parse(data)
	if err != nil {
		return err
	}
	d.docs, d.sum = docs, sum

	for _, err := range malformed {
		d.log.Warn().Err(err).Str("file", d.path).Msg("leaving out a malformed entry of the content file")
	}

	return nil
}

// Watch implements [cms.Watcher]. A file is read once its size and time have stayed the
// same for one interval.
func (d *Driver) Watch(ctx context.Context, _ []string, changed func()) {
	// What is stored elsewhere may be from before the process began, so the first content
	// is announced, too.
	var announced [sha256.Size]byte
	var seen, handled string // size and time of the file
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		now := ""
		if info, err := os.Stat(d.path); err == nil {
			now = fmt.Sprint(info.Size(), info.ModTime())
		}

		if now == seen && now != handled {
			handled = now
			_ = d.read() // the error is logged
		}
		seen = now

		// The content is compared rather than the file, which a Fetch may have read
		// already.
		if sum := d.current(); sum != announced {
			announced = sum
			changed()
		}
	}
}

// WatchDrafts implements [cms.Watcher]: drafts are in the same file.
func (d *Driver) WatchDrafts(ctx context.Context, types []string, changed func()) {
	d.Watch(ctx, types, changed)
}

// Watching implements [cms.Watcher].
func (d *Driver) Watching() cms.Watching { return cms.Watching{Mode: cms.WatchFile, Heard: time.Now()} }

func (d *Driver) current() [sha256.Size]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sum
}
