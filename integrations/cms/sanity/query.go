package sanity

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"unicode/utf8"

	"siteapi/integrations/upstream"
)

// The queries. What editors can't change is checked again on what comes back.
const (
	// contentQuery selects the documents of one locale. The word language stands for the
	// field that holds it.
	contentQuery = `*[_type in $types && !(_id in path("drafts.**")) && !(_id in path("versions.**"))` +
		` && (language == $locale || !defined(language))] | order(_id asc)`
	// idsQuery selects those of some ids that exist.
	idsQuery = `*[_id in $ids]._id`
	// copiesQuery selects all documents of some submissions, with the drafts and versions
	// that editors may have made of them.
	copiesQuery = `*[_id in $ids || (_type == $type && submissionId in $names)]._id`
	// byEmailQuery selects the submissions made with an address, drafts and versions too.
	byEmailQuery = `*[_type == $type && lower(contact.email) == $email].submissionId`
	// pingQuery is as cheap as a query gets.
	pingQuery = `count(*[_id == $id])`
)

// Perspectives.
const (
	published = "published" // no drafts, no versions
	raw       = "raw"       // every document as it is stored
)

// maxGET is how long the parameters of a GET may be before the query goes by POST. The
// vendor's own limit is about 11,000 characters.
const maxGET = 10_000

// groqQuery is a query with all it needs.
type groqQuery struct {
	op          string
	text        string
	params      map[string]any
	perspective string
	anonymous   bool
	// private are parameters that say something of a person: they stay out of the address,
	// which logs hold, and out of errors.
	private []string
}

// query runs a query and reads its result into v. An answer without a result of the
// expected shape is an error.
func (d *Driver) query(ctx context.Context, q groqQuery, v any) error {
	resp, err := d.client.Do(ctx, d.request(q))
	if err != nil {
		return err
	}
	if err := d.judge(q.op, resp, q.private...); err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := resp.Decode(&answer); err != nil || !utf8.Valid(resp.Body) {
		return d.odd(q.op, resp, "the answer is not JSON")
	}
	if len(answer.Result) == 0 || string(answer.Result) == "null" {
		return d.odd(q.op, resp, "the answer has no result")
	}
	if err := json.Unmarshal(answer.Result, v); err != nil {
		return d.odd(q.op, resp, "the result has another shape than was asked for")
	}
	return nil
}

// request chooses GET for short queries, which are easier to find in the vendor's logs,
// and POST for long and for private ones.
func (d *Driver) request(q groqQuery) upstream.Request {
	req := upstream.Request{
		Op: q.op, Path: d.path("query"), Anonymous: q.anonymous, Safe: true,
		Query: url.Values{"perspective": {q.perspective}, "returnQuery": {"false"}},
	}
	long := url.Values{"query": {q.text}}
	for name, value := range q.params {
		// The parameters are strings and lists of strings, which always have a JSON form.
		text, _ := json.Marshal(value)
		long.Set("$"+name, string(text))
	}
	if len(long.Encode()) > maxGET || len(q.private) > 0 {
		req.Method = http.MethodPost
		req.Body = map[string]any{"query": q.text, "params": q.params}
		return req
	}
	for name, values := range long {
		req.Query[name] = values
	}
	return req
}

// path is where an API of the dataset lives.
func (d *Driver) path(api string) string {
	return "/" + d.version + "/data/" + api + "/" + d.dataset
}
