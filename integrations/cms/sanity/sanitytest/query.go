package sanitytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// perspectiveSince is the API version from which queries see published documents unless
// they say otherwise; before, they saw all documents.
const perspectiveSince = "2025-02-19"

// groq is a query with its parameters.
type groq struct {
	text   string
	params map[string]any
}

// form is a query that is understood, with what it returns of the documents it may see.
type form struct {
	text *regexp.Regexp
	run  func(match []string, q groq, docs []document) (any, error)
}

// forms are all of them, blanks made even.
func forms() []form {
	return []form{
		{
			regexp.MustCompile(`^\*\[_type in \$types && !\(_id in path\("drafts\.\*\*"\)\) && !\(_id in path\("versions\.\*\*"\)\) && \((\w+) == \$locale \|\| !defined\((\w+)\)\)\] \| order\(_id asc\)$`),
			runContent,
		},
		{regexp.MustCompile(`^\*\[_id in \$ids\]\._id$`), runIDs},
		{regexp.MustCompile(`^\*\[_id in \$ids \|\| \(_type == \$type && submissionId in \$names\)\]\._id$`), runCopies},
		{regexp.MustCompile(`^\*\[_type == \$type && lower\(contact\.email\) == \$email\]\.submissionId$`), runByEmail},
		{regexp.MustCompile(`^count\(\*\[_id == \$id\]\)$`), runCount},
	}
}

// query answers GET and POST of the query API.
func (s *Server) query(r *http.Request, seen Request, version string) answer {
	q, err := readQuery(r.Method, seen.Params, seen.Body)
	if err != nil {
		return queryFailed(q.text, err)
	}
	perspective := seen.Params.Get("perspective")
	if perspective == "" {
		perspective = "raw"
		if version >= perspectiveSince {
			perspective = "published"
		}
	}
	if !slices.Contains([]string{"published", "raw", "drafts", "previewDrafts"}, perspective) {
		return failed(http.StatusBadRequest, "Bad Request", fmt.Sprintf("Invalid perspective %q", perspective))
	}
	if strings.HasSuffix(strings.ToLower(perspective), "drafts") && seen.Auth == authNone {
		return failed(http.StatusForbidden, "Forbidden", "drafts need a token")
	}
	even := strings.Join(strings.Fields(q.text), " ")
	for _, f := range forms() {
		match := f.text.FindStringSubmatch(even)
		if match == nil {
			continue
		}
		result, err := f.run(match, q, s.visible(seen.Auth, perspective))
		if err != nil {
			return queryFailed(q.text, err)
		}
		out := map[string]any{"ms": 1, "result": result, "syncTags": []string{"s1:stand-in"}}
		if seen.Params.Get("returnQuery") != "false" {
			out["query"] = q.text
		}
		return answer{http.StatusOK, encode(out)}
	}
	return queryFailed(q.text, fmt.Errorf("the stand-in does not understand this query"))
}

// queryFailed is an error of the query API.
func queryFailed(text string, err error) answer {
	return answer{http.StatusBadRequest, encode(map[string]any{"error": map[string]any{
		"type": "queryParseError", "description": err.Error(), "query": text, "start": 0, "end": len(text),
	}})}
}

// readQuery reads a query from an address or a body.
func readQuery(method string, params url.Values, body []byte) (groq, error) {
	q := groq{params: map[string]any{}}
	switch method {
	case http.MethodGet:
		q.text = params.Get("query")
		for name, values := range params {
			name, isParam := strings.CutPrefix(name, "$")
			if !isParam {
				continue
			}
			var value any
			if err := json.Unmarshal([]byte(values[0]), &value); err != nil {
				return q, fmt.Errorf("param $%s is not JSON", name)
			}
			q.params[name] = value
		}
	case http.MethodPost:
		var sent struct {
			Query  string         `json:"query"`
			Params map[string]any `json:"params"`
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			return q, fmt.Errorf("the body is not JSON")
		}
		q.text, q.params = sent.Query, sent.Params
	default:
		return q, fmt.Errorf("method %s is not allowed", method)
	}
	if q.text == "" {
		return q, fmt.Errorf("the query is missing")
	}
	return q, nil
}

// visible returns the documents that a reader sees, by id.
func (s *Server) visible(auth, perspective string) []document {
	s.mu.Lock()
	defer s.mu.Unlock()
	var docs []document
	for id, raw := range s.indexed() {
		if auth == authNone && (s.opts.Private || strings.Contains(id, ".")) {
			continue
		}
		if perspective == "published" && (strings.HasPrefix(id, "drafts.") || strings.HasPrefix(id, "versions.")) {
			continue
		}
		fields, problem := readDocument(raw)
		if problem != "" {
			panic("sanitytest: a stored document is broken: " + problem)
		}
		docs = append(docs, fields)
	}
	sort.Slice(docs, func(i, j int) bool { return docs[i].id < docs[j].id })
	return docs
}

func runContent(match []string, q groq, docs []document) (any, error) {
	types, err := list(q, "types")
	if err != nil {
		return nil, err
	}
	locale, err := word(q, "locale")
	if err != nil {
		return nil, err
	}
	if match[1] != match[2] {
		return nil, fmt.Errorf("two language fields")
	}
	result := []json.RawMessage{}
	for _, d := range docs {
		if !slices.Contains(types, d.typ) || strings.HasPrefix(d.id, "drafts.") || strings.HasPrefix(d.id, "versions.") {
			continue
		}
		// As in GROQ, a field that is null is not defined.
		if language := d.fields[match[1]]; language == nil || language == any(locale) {
			result = append(result, d.raw)
		}
	}
	return result, nil
}

func runIDs(_ []string, q groq, docs []document) (any, error) {
	ids, err := list(q, "ids")
	if err != nil {
		return nil, err
	}
	return idsWhere(docs, func(d document) bool { return slices.Contains(ids, d.id) }), nil
}

func runCopies(_ []string, q groq, docs []document) (any, error) {
	ids, err := list(q, "ids")
	if err != nil {
		return nil, err
	}
	names, err := list(q, "names")
	if err != nil {
		return nil, err
	}
	typ, err := word(q, "type")
	if err != nil {
		return nil, err
	}
	return idsWhere(docs, func(d document) bool {
		name, _ := d.fields["submissionId"].(string)
		return slices.Contains(ids, d.id) || d.typ == typ && name != "" && slices.Contains(names, name)
	}), nil
}

// runByEmail returns null for a document without a submissionId, as GROQ does.
func runByEmail(_ []string, q groq, docs []document) (any, error) {
	typ, err := word(q, "type")
	if err != nil {
		return nil, err
	}
	email, err := word(q, "email")
	if err != nil {
		return nil, err
	}
	names := []any{}
	for _, d := range docs {
		contact, _ := d.fields["contact"].(map[string]any)
		if typed, ok := contact["email"].(string); ok && d.typ == typ && strings.ToLower(typed) == email {
			names = append(names, d.fields["submissionId"])
		}
	}
	return names, nil
}

func runCount(_ []string, q groq, docs []document) (any, error) {
	id, err := word(q, "id")
	if err != nil {
		return nil, err
	}
	return len(idsWhere(docs, func(d document) bool { return d.id == id })), nil
}

func idsWhere(docs []document, keep func(document) bool) []string {
	ids := []string{}
	for _, d := range docs {
		if keep(d) {
			ids = append(ids, d.id)
		}
	}
	return ids
}

// word and list read parameters; one that is missing is an error as in the original.
func word(q groq, name string) (string, error) {
	value, ok := q.params[name].(string)
	if !ok {
		return "", fmt.Errorf("param $%s referenced, but not provided as a string", name)
	}
	return value, nil
}

func list(q groq, name string) ([]string, error) {
	values, ok := q.params[name].([]any)
	if !ok {
		return nil, fmt.Errorf("param $%s referenced, but not provided as a list", name)
	}
	var out []string
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("param $%s holds something else than strings", name)
		}
		out = append(out, text)
	}
	return out, nil
}
