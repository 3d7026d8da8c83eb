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

	"siteapi/integrations/lead"
)

// Document is one published document.
type Document struct {
	ID   string // the field _id
	Type string // the field _type
	// Language is the field language. It is empty if the document belongs to every
	// locale.
	Language string
	// UpdatedAt is the field _updatedAt. It is zero if the CMS does not state it.
	UpdatedAt time.Time
	// Fields is the document as a JSON object, in which assets have their url. It has no
	// fields whose names begin with an underscore: they belong to the CMS.
	Fields json.RawMessage
}

// Query asks for the content of one locale.
type Query struct {
	// Types are the document types to return.
	Types []string
	// Locale selects the documents in this language and the documents without a language.
	Locale string
	// Perspective is "drafts", or "<release>,drafts": of each document the first of these
	// layers that has it, or else the published one, under the published id. Empty: the
	// published documents.
	Perspective string
}

// Matches reports whether a query asks for a document. Drafts, versions, private
// documents and leads never match.
func (q Query) Matches(d Document) bool {
	return IsPublic(d.ID) && d.Type != LeadType &&
		slices.Contains(q.Types, d.Type) && (d.Language == "" || d.Language == q.Locale)
}

// IsPublished reports whether an id belongs to a published document rather than to a
// draft or to a version in a release.
func IsPublished(id string) bool {
	return !strings.HasPrefix(id, "drafts.") && !strings.HasPrefix(id, "versions.")
}

// IsPublic reports whether any reader of a public dataset sees the document with this id.
// An id with a dot is private.
func IsPublic(id string) bool { return !strings.Contains(id, ".") }

// Content reads published documents. Every driver implements it.
type Content interface {
	// Fetch returns the documents that match a query, ordered by id, in one request to
	// the CMS's live API. A malformed document is left out and logged.
	Fetch(ctx context.Context, q Query) ([]Document, error)

	// Ping makes one cheap round trip that proves address and credentials.
	Ping(ctx context.Context) error
}

// Leads stores submitted quotes as documents. Every driver implements it.
type Leads interface {
	// Put stores a lead under LeadID. Storing it again succeeds and changes nothing but its
	// consents, if one was withdrawn.
	Put(ctx context.Context, s *lead.Lead) error
}

// Lookup tells which leads are stored. Every driver implements it; one that keeps none
// returns [errors.ErrUnsupported]: an erasure then finds nothing there, and a verification
// counts the deliveries instead.
type Lookup interface {
	// Missing returns the lead ids that are not stored, in the order given.
	Missing(ctx context.Context, ids []string) ([]string, error)

	// Find returns the ids of the leads made with an e-mail address, letter case
	// ignored, each once and in no particular order.
	Find(ctx context.Context, email string) ([]string, error)
}

// Eraser removes stored leads. Every driver implements it.
type Eraser interface {
	// Erase removes the documents of the lead ids. An id without a document is not an
	// error, and a driver that keeps none returns nil.
	Erase(ctx context.Context, ids []string) error
}

// Seeder is a driver whose CMS may be empty at first.
type Seeder interface {
	// IDs returns the ids of all documents of some types, drafts and versions too.
	IDs(ctx context.Context, types []string) ([]string, error)

	// Seed stores all of these documents at once. Those whose id exists stay as they are.
	Seed(ctx context.Context, docs []json.RawMessage) error
}

// Webhook is how the CMS notifies this service of changes.
type Webhook struct {
	// URL is the endpoint of this service.
	URL string
	// Token is sent as "Authorization: Bearer".
	Token string
	// Secret signs the body. If it is empty, there is no signature.
	Secret string
}

// WebhookSetup is a driver whose CMS calls a webhook that has to be created.
type WebhookSetup interface {
	// DescribeWebhook returns the settings of the webhook, one per line,
	// without its secrets.
	DescribeWebhook(w Webhook) []string

	// CreateWebhook creates the webhook unless it exists, and reports which was the case.
	CreateWebhook(ctx context.Context, w Webhook) (string, error)
}
