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
// localized telephone numbers and an inline logo, a hero section in each language, and a
// price and labels in three languages for each calculator option.
func Sample() []byte { return bytes.Clone(sample) }

// IsSample reports whether content is the sample, unchanged.
func IsSample(content []byte) bool { return bytes.Equal(content, sample) }

// Check returns an error if the text of a content file cannot be used. Entries that would
// be left out are not an error.
func Check(content []byte) error {
	_, _, err := parse(content, func(string) string { return "" })
	return err
}

// Fetch returns the documents that match a query. The result is never older than the
// file, unless the file cannot be used.
func (d *Driver) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("reading the content", err)
	}

	// The error is logged, and the last usable content is served.
	docs, _ := d.read()
	if q.Perspective != "" {
		docs = overlay(docs, q.Perspective)
	}

	found := []cms.Document{}
	for _, doc := range docs {
		if q.Matches(doc) {
			found = append(found, doc)
		}
	}
	return found, nil
}

// overlay returns the documents visible in a perspective, ordered by id. Each layer of
// the perspective takes precedence over the later ones and over the published documents.
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

// read returns the documents of the content file and parses it only after a change. If
// the file cannot be used, read returns the earlier content and an error, which it logs.
func (d *Driver) read() ([]cms.Document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()

	sum, err := digest(d.Path)
	if err == nil && sum == d.sum {
		return d.docs, nil
	}

	var docs []cms.Document
	var malformed []error
	if err == nil {
		var data []byte
		if data, err = os.ReadFile(d.Path); err == nil {
			docs, malformed, err = parse(data, d.assetURL)
		}
	}
	if err != nil {
		d.Log.Error().Err(err).Str("file", d.Path).
			Msg("cannot use the content file, serving the earlier content")
		return d.docs, err
	}

	d.docs, d.malformed, d.sum = docs, malformed, sum
	for _, err := range malformed {
		d.Log.Warn().Err(err).Str("file", d.Path).Msg("leaving out a malformed entry of the content file")
	}
	return docs, nil
}

// Malformed implements [cms.MalformedEntries].
func (d *Driver) Malformed() (problems []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, err := range d.malformed {
		problems = append(problems, "content file, "+err.Error())
	}
	return problems
}

// assetURL returns the address of an asset of the content lake, or "" without one.
func (d *Driver) assetURL(ref string) string {
	if d.ProjectID == "" {
		return ""
	}
	return cms.AssetURL(d.ProjectID, d.Dataset, ref)
}

// digest returns the digest of a file's text. It does not hold the text, since it is called
// for each locale of changed content: `make chaos ONLY=readers` measures a third more memory
// with it.
func digest(path string) (sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()

	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return string(hash.Sum(nil)), err
}

// Watch implements [cms.Watcher] by polling the identity, the size and the modification
// time of the file: a deployment may replace it by a file of the same size and time. If a
// file is unusable because it was read during a write, a later poll reads it.
func (d *Driver) Watch(ctx context.Context, _ []string, changed func()) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()

	for seen := os.FileInfo(nil); ; {
		now, err := os.Stat(d.Path)
		if err == nil && (seen == nil || !os.SameFile(seen, now) ||
			seen.Size() != now.Size() || !seen.ModTime().Equal(now.ModTime())) {
			if _, err := d.read(); err == nil {
				changed()
			}
		}
		seen = now

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// WatchDrafts implements [cms.Watcher]: drafts are in the same file.
func (d *Driver) WatchDrafts(ctx context.Context, types []string, changed func(revision string)) {
	d.Watch(ctx, types, func() {
		revision, _ := d.DraftsRevision(ctx, types) // the error is logged
		changed(revision)
	})
}

// DraftsRevision implements [cms.Watcher]. It identifies the text of the last usable file.
func (d *Driver) DraftsRevision(context.Context, []string) (string, error) {
	_, _ = d.read()
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%.8x", d.sum), nil
}

// Watching implements [cms.Watcher].
func (d *Driver) Watching() cms.Watching { return cms.Watching{Mode: cms.WatchFile} }
