package sanity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// contentQuery selects the documents of a query, and some of those in an excepted
// language: it does not parse tags such as "es-ES". A singleton is selected whatever its
// language is.
const contentQuery = `*[_type in $types && !(_id in path("drafts.**")) && !(_id in path("versions.**"))` +
	` && (_id in $singletons || !(coalesce(language, locale, _lang, __i18n_lang) in $except))]` +
	` | order(_id asc)`

// These are the perspectives of queries.
const (
	published = "published" // excludes drafts and versions
	raw       = "raw"       // every stored document
)

// groqQuery is a query with its parameters and request options.
type groqQuery struct {
	op          string
	text        string
	params      map[string]any
	perspective string
	anonymous   bool   // true if the token is not sent
	event       string // the result must include this live event; empty: no requirement
}

// Fetch returns the documents of a locale. If Sanity refuses the token, a public dataset
// is read without it, so an expired token does not affect visitors.
func (d *Driver) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	query := groqQuery{
		op:          "fetching content",
		text:        contentQuery,
		perspective: cmp.Or(q.Perspective, published),
		anonymous:   d.Token == "",
		event:       d.liveDocuments.recentEvent(),
		params: map[string]any{
			"types":      q.Types,
			"except":     append([]string{}, q.Except...),
			"singletons": cms.Singletons(),
		},
	}
	// Any perspective other than the published one requires the token.
	if q.Perspective != "" {
		query.anonymous, query.event = false, d.liveDrafts.recentEvent()
	}
	raws, err := d.documents(ctx, query)
	if err != nil {
		return nil, err
	}

	docs, malformed := make([]cms.Document, 0, len(raws)), 0
	for _, text := range raws {
		doc, err := cms.Decode(text, func(ref string) string {
			return cms.AssetURL(d.ProjectID, d.Dataset, ref)
		})
		if err != nil {
			malformed++
			d.Log.Warn().Err(err).Msg("leaving out a malformed document of the CMS")
		} else if q.Matches(doc) {
			docs = append(docs, doc)
		}
	}

	if len(docs) == 0 && malformed > 0 {
		return nil, unavailable(query.op, "the response contains no valid documents")
	}

	return docs, nil
}

// documents runs a query. If Sanity refuses the token for published documents, a public
// dataset is read without it.
func (d *Driver) documents(ctx context.Context, query groqQuery) (docs []json.RawMessage, err error) {
	err = d.query(ctx, query, &docs)

	if refused, ok := errors.AsType[*upstream.Error](err); ok &&
		d.Token != "" && query.perspective == published &&
		(refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		query.anonymous = true
		var public []json.RawMessage
		if d.query(ctx, query, &public) == nil && len(public) > 0 {
			return public, nil
		}
	}
	return docs, err
}

// Ping requests the site settings, with the token if one is configured: Sanity refuses an
// invalid token even if none is required. Ping does not prove that the token may write.
func (d *Driver) Ping(ctx context.Context) error {
	return d.query(ctx, groqQuery{
		op:          "reading the site settings",
		text:        stateQuery,
		perspective: published,
		anonymous:   d.Token == "",
		params:      map[string]any{"types": []string{"siteSettings"}},
	}, &[]json.RawMessage{})
}

// query runs a query and decodes its result into v. It uses POST, which long queries
// require and which keeps e-mail addresses out of logged URLs.
func (d *Driver) query(ctx context.Context, q groqQuery, v any) error {
	email, _ := q.params["email"].(string)
	var response struct {
		Result json.RawMessage `json:"result"`
	}
	options := url.Values{"perspective": {q.perspective}, "returnQuery": {"false"}}
	if q.event != "" {
		options.Set("lastLiveEventId", q.event)
	}

	err := d.call(ctx, upstream.Request{
		Op:        q.op,
		Method:    http.MethodPost,
		Path:      d.path("query"),
		Anonymous: q.anonymous,
		Safe:      true,
		Query:     options,
		Body:      map[string]any{"query": q.text, "params": q.params},
	}, &response, email)

	switch {
	case err != nil:
		return err
	case len(response.Result) == 0 || string(response.Result) == "null":
		return unavailable(q.op, "the response contains no result")
	case json.Unmarshal(response.Result, v) != nil:
		return unavailable(q.op, "the result has an unexpected shape")
	}
	return nil
}
