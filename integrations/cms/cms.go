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
	// Language is the language that [Language] reads from the fields. It is empty if the
	// document belongs to every locale.
	Language string
	// Useless is the language in the fields of a singleton, which belongs to every locale
	// all the same.
	Useless string
	// UpdatedAt is the field _updatedAt. It is zero if the CMS does not provide it.
	UpdatedAt time.Time
	// Fields is the document as a JSON object on one line, in which each asset includes its
	// URL.
	// Fields whose names begin with an underscore belong to the CMS and are left out.
	Fields json.RawMessage
}

// Query selects the content of one locale.
type Query struct {
	// Types are the document types to return.
	Types []string
	// Except lists the site's other languages, whose documents are left out. Documents
	// without a language are returned, and so are singletons. The caller reports those in a
	// language that the site does not use.
	Except []string
	// Perspective is "drafts" or "<release>,…,drafts". Each document is read from the first
	// of these layers that contains it, falling back to the published document, and keeps
	// its published id. An empty perspective selects the published documents.
	Perspective string
}

// Matches reports whether the query selects a document. Drafts, versions and leads never
// match, and private documents match only without a perspective: the caller reports them.
func (q Query) Matches(d Document) bool {
	return IsPublished(d.ID) && (IsPublic(d.ID) || q.Perspective == "") && d.Type != LeadType &&
		slices.Contains(q.Types, d.Type) && !slices.Contains(q.Except, d.Language)
}

// IsPublished reports whether an id belongs to a published document rather than to a
// draft or to a version in a release.
func IsPublished(id string) bool {
	return !strings.HasPrefix(id, "drafts.") && !strings.HasPrefix(id, "versions.")
}

// publishedID returns the id of the published document of a draft or of a version in a
// release.
func publishedID(id string) string {
	id = strings.TrimPrefix(id, "drafts.")
	if version, ok := strings.CutPrefix(id, "versions."); ok {
		_, id, _ = strings.Cut(version, ".")
	}
	return id
}

// Singletons returns the types of which a site has one document, with the type as its id.
// It is read by that id, so it belongs to every locale, whatever language a plugin of the
// CMS wrote into it.
func Singletons() []string { return []string{SettingsType, RulesType, TextsType} }

// IsSingleton reports whether an id is that of a singleton, published or not.
func IsSingleton(id string) bool { return slices.Contains(Singletons(), publishedID(id)) }

// IsPublic reports whether the document with this id can be read from a public dataset
// without credentials. An id that contains a dot is private.
func IsPublic(id string) bool { return !strings.Contains(id, ".") }

// Content reads published documents. Every driver implements it.
type Content interface {
	// Fetch returns the documents that match a query, ordered by id, in one request to
	// the CMS's live API. A malformed document is left out and logged.
	Fetch(ctx context.Context, q Query) ([]Document, error)

	// Ping verifies the address and the credentials with one cheap round trip.
	Ping(ctx context.Context) error
}

// MalformedEntries is a driver whose content people write without the checks of a CMS.
type MalformedEntries interface {
	// Malformed describes the entries that the last Fetch left out, each with its place.
	Malformed() []string
}

// Leads stores submitted quotes as documents. Every driver implements it.
type Leads interface {
	// Put stores a lead under its LeadDocumentID. Storing it again succeeds and changes
	// only its consents, if one of them was withdrawn.
	Put(ctx context.Context, s *lead.Lead) error
}

// Lookup finds stored leads. Every driver implements it. A driver that does not store
// leads returns [errors.ErrUnsupported]: erasure then finds nothing in the CMS, and
// verification counts the deliveries instead.
type Lookup interface {
	// Missing returns the lead ids that are not stored, in the order given.
	Missing(ctx context.Context, ids []string) ([]string, error)

	// Find returns the ids of the leads submitted with an e-mail address, ignoring letter
	// case. Each id is returned once, in no particular order.
	Find(ctx context.Context, email string) ([]string, error)
}

// Eraser removes stored leads. Every driver implements it.
type Eraser interface {
	// Erase removes the documents of the lead ids. An id without a document is not an
	// error. A driver that does not store leads returns nil.
	Erase(ctx context.Context, ids []string) error
}

// Webhook describes the request by which the CMS notifies this service of changes.
type Webhook struct {
	// URL is the endpoint of this service.
	URL string
	// Token is sent as "Authorization: Bearer".
	Token string
	// Secret signs the body. If it is empty, the request is not signed.
	Secret string
}

// WebhookSetup is a driver that can create the webhook in its CMS.
type WebhookSetup interface {
	// DescribeWebhook returns the settings of the webhook, one per line,
	// without its secrets.
	DescribeWebhook(w Webhook) []string

	// CreateWebhook creates the webhook unless it exists, and returns a message with the
	// result.
	CreateWebhook(ctx context.Context, w Webhook) (string, error)
}
