// Package cms is the contract with the headless CMS: reading published content and
// storing submitted quotes. Drivers live in the folders below; each passes the
// conformance suite in cmstest. Failures are *upstream.Error.
package cms

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/quote"
)

// SubmissionType is the document type that submitted quotes are stored as.
const SubmissionType = "quoteSubmission"

// SubmissionID is the document id of a stored submission. An id with a dot stays
// private on a public dataset.
func SubmissionID(id string) string { return SubmissionType + "." + id }

// IsPublished reports whether an id is that of a published document rather than of
// a draft or of a version in a release.
func IsPublished(id string) bool {
	return !strings.HasPrefix(id, "drafts.") && !strings.HasPrefix(id, "versions.")
}

// IsPublic reports whether an id is one that any reader of a public dataset sees: one
// without a dot, which leaves out drafts and versions as well.
func IsPublic(id string) bool { return !strings.Contains(id, ".") }

// Document is one published document.
type Document struct {
	ID        string          // _id
	Type      string          // _type
	Language  string          // language; empty: it belongs to every locale
	UpdatedAt time.Time       // _updatedAt; zero where the CMS does not say
	Fields    json.RawMessage // the whole document as a JSON object, image assets with their url
}

// Query asks for the content of one locale.
type Query struct {
	Types  []string // document types to return
	Locale string   // documents of this language and those without any are returned
}

// Matches reports whether a query asks for a document. Whatever the query says, drafts,
// versions, private documents and submissions are never asked for.
func (q Query) Matches(d Document) bool {
	return IsPublic(d.ID) && d.Type != SubmissionType &&
		slices.Contains(q.Types, d.Type) && (d.Language == "" || d.Language == q.Locale)
}

// Content reads published documents.
type Content interface {
	// Fetch returns the documents a query names, ordered by id, in one request to the
	// CMS's live API, never to its CDN. Drafts, versions and submissions are never returned.
	Fetch(ctx context.Context, q Query) ([]Document, error)
	// Ping makes one cheap round trip that proves address and credentials.
	Ping(ctx context.Context) error
}

// Watcher is a Content driver that notices changes by itself.
type Watcher interface {
	// Watch calls changed after each change of content until ctx ends.
	Watch(ctx context.Context, changed func()) error
}

// Submissions stores submitted quotes as documents.
type Submissions interface {
	// Put stores a submission under SubmissionID. Storing it again changes nothing and succeeds.
	Put(ctx context.Context, s *quote.Submission) error
	// Missing returns those of the given submission ids that are not stored.
	Missing(ctx context.Context, ids []string) ([]string, error)
	// Find returns the ids of the stored submissions that were made with an e-mail
	// address, letter case ignored, in no particular order and each once. An empty address
	// finds nothing.
	Find(ctx context.Context, email string) ([]string, error)
	// Erase removes the documents of the given submission ids; those that are not there are no error.
	Erase(ctx context.Context, ids []string) error
}

// Lookup is a driver that can tell which submissions it has stored.
type Lookup interface {
	// Missing returns those of the submission ids that are not stored, in the order given.
	Missing(ctx context.Context, ids []string) ([]string, error)
	// Find returns the ids of the submissions made with an e-mail address, letter case
	// ignored, each once and in no particular order.
	Find(ctx context.Context, email string) ([]string, error)
}

// Eraser is a driver that can remove what it has stored.
type Eraser interface {
	// Erase removes the documents of the submission ids. One that does not exist is no error.
	Erase(ctx context.Context, ids []string) error
}
