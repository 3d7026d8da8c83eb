package sanitytest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// params are the parameters of a query. A missing one is null to the filter.
type params struct {
	Types, IDs, Names   []string
	Locale, Type, Email string
}

// queries are the supported queries: a filter, and the projection of a document.
var queries = map[string]struct {
	keep func(d document, p params) bool
	pick func(d document) any
}{
	`*[_type in $types && !(_id in path("drafts.**")) && !(_id in path("versions.**"))` +
		` && (language == $locale || !defined(language))] | order(_id asc)`: {
		func(d document, p params) bool {
			// As in GROQ, a field that is null is not defined.
			language := d.fields["language"]
			return slices.Contains(p.Types, d.typ) && isPublished(d.id) &&
				(language == nil || language == any(p.Locale))
		},
		func(d document) any { return d.raw },
	},
	`*[_type in $types]{_id, _rev} | order(_id asc)`: {
		func(d document, p params) bool { return slices.Contains(p.Types, d.typ) },
		func(d document) any { return map[string]any{"_id": d.id, "_rev": d.fields["_rev"]} },
	},
	`*[_id in $ids || (_type == $type && submissionId in $names)]._id`: {
		func(d document, p params) bool {
			name, _ := d.fields["submissionId"].(string)
			return slices.Contains(p.IDs, d.id) || d.typ == p.Type && slices.Contains(p.Names, name)
		},
		func(d document) any { return d.id },
	},
	`*[_type == $type && lower(contact.email) == $email].submissionId`: {
		func(d document, p params) bool {
			contact, _ := d.fields["contact"].(map[string]any)
			email, ok := contact["email"].(string)
			return ok && d.typ == p.Type && strings.ToLower(email) == p.Email
		},
		func(d document) any { return d.fields["submissionId"] }, // null if it is missing
	},
}

func isPublished(id string) bool {
	return !strings.HasPrefix(id, "drafts.") && !strings.HasPrefix(id, "versions.")
}

// query answers the query API.
func (s *Server) query(seen Request) answer {
	var sent struct {
		Query  string
		Params params
	}
	if seen.Method != http.MethodPost || json.Unmarshal(seen.Body, &sent) != nil {
		return failed(http.StatusBadRequest, "the body is not a query with its parameters")
	}

	q, known := queries[sent.Query]
	if !known {
		return failed(http.StatusBadRequest, "the stub does not understand this query")
	}

	perspective := seen.Params.Get("perspective")
	layered := strings.HasSuffix(perspective, "drafts")
	if layered && seen.Auth == "none" {
		return failed(http.StatusUnauthorized, "a perspective with drafts needs a token")
	}

	found := []any{}
	event, _ := strconv.Atoi(seen.Params.Get("lastLiveEventId"))
	docs := s.visible(seen.Auth, perspective, event)
	if layered {
		docs = layers(docs, strings.Split(perspective, ","))
	}
	for _, d := range docs {
		if q.keep(d, sent.Params) {
			found = append(found, q.pick(d))
		}
	}

	return answer{http.StatusOK, encode(map[string]any{"ms": 1, "result": found})}
}

// visible returns the documents that a reader sees, by id, once an event has happened.
// Those without a _rev get one that follows from their content.
func (s *Server) visible(auth, perspective string, event int) []document {
	s.mu.Lock()
	defer s.mu.Unlock()

	docs := s.docs
	if s.opts.IndexLags && event < s.event {
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

// layers returns the documents as a stack of perspectives shows them, under published ids.
func layers(docs []document, perspectives []string) []document {
	shown := map[string]document{}
	slices.Reverse(perspectives) // the one on top comes last
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
			var fields map[string]json.RawMessage // numbers stay as they were written
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

// mutate runs a transaction, all of it or nothing.
func (s *Server) mutate(seen Request) answer {
	if seen.Method != http.MethodPost || seen.Auth != "write" {
		return mutationFailed(http.StatusForbidden,
			"insufficientPermissionsError", `permission "create" required`)
	}

	var sent struct {
		Mutations []struct {
			CreateIfNotExists json.RawMessage
			Patch             *patch
			Delete            *struct{ ID string }
		}
	}
	if err := json.Unmarshal(seen.Body, &sent); err != nil || len(sent.Mutations) == 0 {
		return failed(http.StatusBadRequest, "the body must be an object with a list of mutations")
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	next := maps.Clone(s.docs)
	results := []map[string]string{}

	for _, m := range sent.Mutations {
		id, operation, err := s.apply(next, m.CreateIfNotExists, m.Patch, m.Delete)
		if err != nil {
			return mutationFailed(http.StatusBadRequest, "validationError", err.Error())
		}
		result := map[string]string{"operation": operation}
		if seen.Params.Get("returnIds") == "true" {
			result["id"] = id
		}
		results = append(results, result)
	}

	s.commit(next)
	return answer{http.StatusOK, encode(map[string]any{"transactionId": "stub", "results": results})}
}

// patch sets fields of a document.
type patch struct {
	ID  string
	Set map[string]any
}

// apply runs one mutation on a copy of the documents.
func (s *Server) apply(
	docs map[string]json.RawMessage, create json.RawMessage, change *patch, remove *struct{ ID string },
) (id, operation string, err error) {
	switch {
	case create != nil:
		d, err := readDocument(create)
		if err != nil {
			return "", "", err
		}
		if _, exists := docs[d.id]; exists {
			return d.id, "none", nil
		}

		now := time.Now().UTC().Format(time.RFC3339)
		d.fields["_createdAt"], d.fields["_updatedAt"] = now, now
		docs[d.id] = encode(d.fields)
		return d.id, "create", nil

	case change != nil && docs[change.ID] != nil:
		d, err := readDocument(docs[change.ID])
		if err != nil {
			return "", "", err
		}
		maps.Copy(d.fields, change.Set)
		docs[d.id] = encode(d.fields)
		return d.id, "update", nil

	case remove != nil && idForm.MatchString(remove.ID):
		if _, exists := docs[remove.ID]; !exists {
			return remove.ID, "none", nil
		}
		delete(docs, remove.ID)
		return remove.ID, "delete", nil
	}
	return "", "", errors.New("the stub does not understand this operation")
}

// mutationFailed is an error of the mutate API.
func mutationFailed(status int, kind, description string) answer {
	return answer{status, encode(map[string]any{"error": map[string]any{
		"type":        "mutationError",
		"description": fmt.Sprintf("The mutation(s) failed: %s", description),
		"items": []any{
			map[string]any{"error": map[string]any{"type": kind, "description": description}, "index": 0},
		},
	}})}
}
