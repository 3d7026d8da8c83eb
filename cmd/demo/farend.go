package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// farEnd is the CMS and the CRM of the demo.
type farEnd interface {
	settings() []string // environment of the service
	// publish does what an editor does, and reports whether the CMS has called the
	// webhook of the service by itself.
	publish(ctx context.Context, base, id, title string) (announced bool, err error)
	lags() bool                         // queries see a publication only a while after its webhook
	delivered(submissions []string) int // deliveries that arrived, of two for each submission
	silence()                           // shows no traffic any more
	places() []string                   // where the leads are
	close() error
}

// files is the far end of the file drivers.
type files struct{ data string }

func (f *files) settings() []string { return nil }
func (f *files) close() error       { return nil }
func (f *files) lags() bool         { return false }
func (f *files) silence()           {}

// publish changes the title of a document in the content file.
func (f *files) publish(_ context.Context, _, id, title string) (announced bool, err error) {
	path := filepath.Join(f.data, "content.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	var docs []map[string]any
	if err := json.Unmarshal(data, &docs); err != nil {
		return false, err
	}
	found := false
	for _, doc := range docs {
		if doc["_id"] == id {
			doc["title"], found = title, true
		}
	}
	if !found {
		return false, fmt.Errorf("the sample content has no document %s", id)
	}
	if data, err = json.MarshalIndent(docs, "", "  "); err != nil {
		return false, err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return false, err
	}
	return false, os.Rename(path+".new", path)
}

// delivered counts submissions that are in the folders of both drivers.
func (f *files) delivered(submissions []string) int {
	n := 0
	contacts, _ := filepath.Glob(filepath.Join(f.data, "crm", "*.json"))
	var all strings.Builder
	for _, path := range contacts {
		data, err := os.ReadFile(path)
		if err == nil {
			all.Write(data)
		}
	}
	for _, id := range submissions {
		if _, err := os.Stat(filepath.Join(f.data, "cms", "quoteSubmission."+id+".json")); err == nil {
			n++
		}
		if strings.Contains(all.String(), id) {
			n++
		}
	}
	return n
}

func (f *files) places() []string {
	return []string{
		"database  " + filepath.Join(f.data, "siteapi.db"),
		"CMS       " + filepath.Join(f.data, "cms"),
		"CRM       " + filepath.Join(f.data, "crm"),
	}
}
