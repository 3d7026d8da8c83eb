package sanitytest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The stub supports these queries.
const (
	contentQuery = `*[_type in $types && !(_id in path("drafts.**")) && !(_id in path("versions.**"))` +
		` && (_id in $singletons || !(coalesce(language, locale, _lang, __i18n_lang) in $except))]` +
		` | order(_id asc)`
	stateQuery   = `*[_type in $types]{_id, _rev} | order(_id asc)`
	copiesQuery  = `*[_id in $ids || (_type == $type && submissionId in $names)]._id`
	byEmailQuery = `*[_type == $type && lower(contact.email) == $email].submissionId`
)

// params are the parameters of a query. A missing parameter is null.
type params struct {
	Types, IDs, Names, Except, Singletons []string
	Type, Email                           string
}

// pick reports whether a query selects a document, and returns its projection.
func pick(query string, p params, d document) (shown any, selected bool) {
	typed := slices.Contains(p.Types, d.typ)
	switch query {
	case contentQuery: // as in GROQ, a field that is null is not defined
		f := d.fields
		language, _ := cmp.Or(f["language"], f["locale"], f["_lang"], f["__i18n_lang"]).(string)
		return d.raw, typed && isPublished(d.id) &&
			(slices.Contains(p.Singletons, d.id) || !slices.Contains(p.Except, language))
	case stateQuery:
		return map[string]any{"_id": d.id, "_rev": d.fields["_rev"]}, typed
	case copiesQuery:
		name, _ := d.fields["submissionId"].(string)
		return d.id, slices.Contains(p.IDs, d.id) || d.typ == p.Type && slices.Contains(p.Names, name)
	}
	contact, _ := d.fields["contact"].(map[string]any)
	email, _ := contact["email"].(string)
	return d.fields["submissionId"], d.typ == p.Type && strings.ToLower(email) == p.Email
}

func isPublished(id string) bool {
	return !strings.HasPrefix(id, "drafts.") && !strings.HasPrefix(id, "versions.")
}

// query answers the query API.
func (s *Server) query(seen Request) response {
	var sent struct {
		Query  string
		Params params
	}
	if json.Unmarshal(seen.Body, &sent) != nil {
		return failed(400, "the body must be an object with a query and its parameters")
	}

	if !slices.Contains([]string{contentQuery, stateQuery, copiesQuery, byEmailQuery}, sent.Query) {
		return failed(400, "the stub does not understand this query")
	}

	perspective := seen.Params.Get("perspective")
	layered := strings.HasSuffix(perspective, "drafts")
	if layered && seen.Auth == "none" {
		return failed(401, "a perspective with drafts needs a token")
	}

	found := []any{}
	event, _ := strconv.Atoi(seen.Params.Get("lastLiveEventId"))
	docs := s.visible(seen.Auth, perspective, event)
	if layered {
		docs = layers(docs, strings.Split(perspective, ","))
	}
	for _, d := range docs {
		if shown, selected := pick(sent.Query, sent.Params, d); selected {
			found = append(found, shown)
		}
	}

	return response{200, encode(map[string]any{"ms": 1, "result": found})}
}

// visible returns the documents visible to a reader after an event, ordered by id. A
// document without a _rev gets one derived from its content.
func (s *Server) visible(auth, perspective string, event int) []document {
	s.mu.Lock()
	defer s.mu.Unlock()

	docs := s.docs
	if s.opts.IndexLags && event < len(s.events) {
		docs = s.indexed
	}

	var seen []document
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		hidden := auth == "none" && (s.opts.Private || strings.Contains(id, "."))
		if !hidden && (perspective != "published" || isPublished(id)) {
			d, _ := readDocument(docs[id])
			if d.fields["_rev"] == nil {
				d.fields["_rev"] = fmt.Sprintf("%x", sha256.Sum256(d.raw))[:12]
				d.raw = fmt.Appendf(d.raw[:len(d.raw)-1], `,"_rev":%q}`, d.fields["_rev"])
			}
			seen = append(seen, d)
		}
	}

	return seen
}

// layers returns the documents of stacked perspectives under their published ids.
func layers(docs []document, perspectives []string) []document {
	shown := map[string]document{}
	slices.Reverse(perspectives) // the topmost is applied last
	for _, name := range append([]string{"published"}, perspectives...) {
		prefix := map[string]string{"published": "", "drafts": "drafts."}[name]
		if name != "published" && name != "drafts" {
			prefix = "versions." + name + "."
		}
		for _, d := range docs {
			id, ok := strings.CutPrefix(d.id, prefix)
			if !ok || !isPublished(id) {
				continue
			}
			var fields map[string]json.RawMessage // preserves the notation of numbers
			_ = json.Unmarshal(d.raw, &fields)
			fields["_id"], fields["_originalId"] = encode(id), encode(d.id)
			d.id, d.raw = id, encode(fields)
			shown[id] = d
		}
	}

	var list []document
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		list = append(list, shown[id])
	}
	return list
}

// mutate runs a transaction atomically.
func (s *Server) mutate(seen Request) response {
	if seen.Auth != "write" {
		return failed(403, `Insufficient permissions; permission "create" required`)
	}

	var sent struct {
		Mutations []struct {
			CreateIfNotExists json.RawMessage
			Patch             struct {
				ID  string
				Set map[string]any
			}
			Delete struct{ ID string }
		}
	}
	if err := json.Unmarshal(seen.Body, &sent); err != nil || len(sent.Mutations) == 0 {
		return failed(400, "the body must be an object with a list of mutations")
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.docs)
	results := []map[string]string{}
	for _, m := range sent.Mutations {
		id := m.Patch.ID + m.Delete.ID // at most one of them is set
		switch stored := next[m.Patch.ID]; {
		case m.CreateIfNotExists != nil:
			d, err := readDocument(m.CreateIfNotExists)
			if err != nil {
				return mutationFailed(err)
			}
			if id = d.id; next[id] == nil {
				next[id] = d.raw
			}
		case stored != nil:
			d, _ := readDocument(stored)
			maps.Copy(d.fields, m.Patch.Set)
			next[id] = encode(d.fields)
		case idForm.MatchString(m.Delete.ID):
			delete(next, id)
		default:
			return mutationFailed(errors.New("the stub does not understand this operation"))
		}

		result := map[string]string{}
		if seen.Params.Get("returnIds") == "true" {
			result["id"] = id
		}
		results = append(results, result)
	}
	s.commit(next)
	return response{200, encode(map[string]any{"transactionId": "stub", "results": results})}
}

// mutationFailed returns an error of the mutate API.
func mutationFailed(err error) response {
	return response{400, fmt.Appendf(nil, `{"error":{"type":"mutationError","description":"The mutation(s) failed",`+
		`"items":[{"error":{"type":"validationError","description":%q},"index":0}]}}`, err)}
}
