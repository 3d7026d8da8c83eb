package sanity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// Fetch returns the documents of a locale. See the package comment for the token.
func (d *Driver) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	q.Types = slices.DeleteFunc(slices.Clone(q.Types), func(t string) bool { return t == cms.SubmissionType })
	if err := ctx.Err(); err != nil {
		return nil, &upstream.Error{System: system, Op: opFetch, Kind: upstream.Unavailable, Err: err}
	}
	if len(q.Types) == 0 {
		return []cms.Document{}, nil
	}
	if d.hasAuth && d.private.Load() {
		return d.fetch(ctx, q, false)
	}
	docs, err := d.fetch(ctx, q, true)
	if !d.hasAuth || err == nil && len(docs) > 0 || err != nil && upstream.KindOf(err) != upstream.Refused {
		return docs, err
	}
	// Refused or nothing to be seen: is there more for one who has the token?
	docs, err = d.fetch(ctx, q, false)
	if err == nil && len(docs) > 0 {
		d.private.Store(true)
	}
	return docs, err
}

const opFetch = "fetching content"

func (d *Driver) fetch(ctx context.Context, q cms.Query, anonymous bool) ([]cms.Document, error) {
	var raws []json.RawMessage
	err := d.query(ctx, groqQuery{
		op: opFetch, text: d.groq, perspective: published, anonymous: anonymous,
		params: map[string]any{"types": q.Types, "locale": q.Locale},
	}, &raws)
	if err != nil {
		return nil, err
	}
	docs := make([]cms.Document, 0, len(raws))
	for _, text := range raws {
		doc, err := d.decoder.Decode(text)
		if err != nil {
			return nil, &upstream.Error{System: system, Op: opFetch, Kind: upstream.Unavailable, Detail: "an odd document came", Err: err}
		}
		if q.Matches(doc) {
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b cms.Document) int { return strings.Compare(a.ID, b.ID) })
	return docs, nil
}

// Ping asks for the number of site settings, with the token if there is one: Sanity
// refuses a wrong token even where none is needed. It does not prove that the token
// may write.
func (d *Driver) Ping(ctx context.Context) error {
	var n int
	return d.query(ctx, groqQuery{
		op: "asking for a sign of life", text: pingQuery, perspective: published, anonymous: !d.hasAuth,
		params: map[string]any{"id": "siteSettings"},
	}, &n)
}
