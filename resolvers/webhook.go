package resolvers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// notice is what the service reads of a webhook's payload, whose shape an editor of
// the CMS chose.
type notice struct {
	documentType string
	locale       string
	id           string
	updatedAt    time.Time // zero: the payload does not say
}

// Names under which the parts of a notice are looked for, the first that is a
// non-empty string wins.
func newNotice(payload map[string]any) notice {
	n := notice{
		documentType: firstString(payload, "_type", "type", "documentType"),
		locale:       firstString(payload, "language", "locale", "_lang", "__i18n_lang"),
		id:           firstString(payload, "_id"),
	}
	if at, err := time.Parse(time.RFC3339, firstString(payload, "_updatedAt")); err == nil {
		n.updatedAt = at
	}
	return n
}

// seenIn reports whether content holds what a notice announces, as far as that can be
// told: a notice that does not say of which document and when is taken for seen.
func (n notice) seenIn(s *snapshot) bool {
	if n.id == "" || n.updatedAt.IsZero() {
		return true
	}
	for _, doc := range s.byType[n.documentType] {
		if doc.ID == n.id {
			return doc.UpdatedAt != nil && !doc.UpdatedAt.Before(n.updatedAt)
		}
	}
	return false
}

func firstString(payload map[string]any, names ...string) string {
	for _, name := range names {
		if s, ok := payload[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// concernsVisitors reports whether a notice is about published content. Drafts and
// versions are not, and neither are the quotes that the service itself stores.
func (n notice) concernsVisitors() bool {
	return cms.IsPublished(n.id) && n.documentType != cms.SubmissionType &&
		!strings.HasPrefix(n.id, cms.SubmissionType+".")
}

// locales returns the locales whose content a notice makes stale.
func (n notice) locales() []schema.Locale {
	if !n.concernsVisitors() {
		return nil
	}
	if n.locale == "" {
		return schema.Locales()
	}
	if l, ok := schema.ParseLocale(n.locale); ok {
		return []schema.Locale{l}
	}
	return nil
}

// receiveCmsWebhook is the rule of the root field of that name. Trouble of our own is
// answered with 503, which the CMS retries; any 4xx it would drop for good.
func (r *Resolver) receiveCmsWebhook(ctx context.Context, payload any) (*schema.InvalidateCachePayload, error) {
	object, ok := payload.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, badInput(schema.FieldError{
			Field: "payload", Code: schema.FieldCodeWrongType, Params: map[string]any{"type": "object"}, Message: "must be a JSON object",
		})
	}
	delivery := deliveryKey(schema.CallerFrom(ctx), object)
	if keys, known := r.seen.get(delivery); known {
		r.Count(Event{"webhook", "repeated"})
		return &schema.InvalidateCachePayload{Success: true, Invalidated: keys}, nil
	}
	n := newNotice(object)
	locales := n.locales()
	keys, err := r.content.invalidate(ctx, locales)
	if err != nil {
		r.Count(Event{"webhook", "error"})
		return nil, err
	}
	r.seen.put(delivery, keys)
	settled := n.seenIn
	if !slices.Contains(r.content.types, n.documentType) {
		settled = nil // it would never be seen
	}
	r.refetch(locales, r.SettleDelay, settled)
	r.Count(Event{"webhook", "ok"})
	r.Log.Info().Str("document_type", n.documentType).Str("document", n.id).Strs("keys", keys).Msg("webhook received")
	return &schema.InvalidateCachePayload{Success: true, Invalidated: keys}, nil
}

// deliveryKey recognises a repetition: the same idempotency key with the same payload.
// A GraphQL request can carry several payloads under one key. Empty: the delivery has none.
func deliveryKey(c *schema.Caller, payload map[string]any) string {
	text, err := json.Marshal(payload)
	if c.IdempotencyKey == "" || err != nil {
		return ""
	}
	return digest(c.IdempotencyKey, string(text))
}

// recentKeys remembers for a while which deliveries of the CMS were carried out. It
// knows those of this process only: elsewhere a repetition is carried out again, which
// is harmless.
type recentKeys struct {
	cache *otter.Cache[string, []string]
}

// Bounds of what is remembered. The CMS repeats a delivery for 30 minutes.
const (
	recentKeysMost = 10_000
	recentKeysLife = time.Hour
)

func newRecentKeys() *recentKeys {
	return &recentKeys{otter.Must(&otter.Options[string, []string]{
		MaximumSize:      recentKeysMost,
		ExpiryCalculator: otter.ExpiryWriting[string, []string](recentKeysLife),
	})}
}

func (k *recentKeys) get(delivery string) ([]string, bool) {
	if delivery == "" {
		return nil, false
	}
	return k.cache.GetIfPresent(delivery)
}

func (k *recentKeys) put(delivery string, keys []string) {
	if delivery != "" {
		k.cache.Set(delivery, keys)
	}
}
