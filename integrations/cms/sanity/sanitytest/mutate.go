package sanitytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// result is what became of one mutation.
type result struct {
	ID        string          `json:"id,omitempty"`
	Operation string          `json:"operation"`
	Document  json.RawMessage `json:"document,omitempty"`
}

// mutationFailure is an error that one mutation of a transaction caused.
type mutationFailure struct {
	status      int
	typ         string
	description string
	id          string
}

// mutate runs a transaction: all of it or nothing.
func (s *Server) mutate(r *http.Request, seen Request) answer {
	switch {
	case r.Method != http.MethodPost:
		return failed(http.StatusMethodNotAllowed, "Method Not Allowed", "only POST is allowed")
	case seen.Auth != authWrite:
		return mutationFailed(-1, &mutationFailure{http.StatusForbidden, "insufficientPermissionsError", `Insufficient permissions; permission "create" required`, ""})
	case len(seen.Body) > maxMutation:
		return failed(http.StatusRequestEntityTooLarge, "Request Entity Too Large", "the transaction is larger than 4 MB")
	}
	for name, allowed := range map[string][]string{
		"returnIds": {"true", "false"}, "returnDocuments": {"true", "false"}, "dryRun": {"true", "false"},
		"visibility": {"sync", "async", "deferred"},
	} {
		if value := seen.Params.Get(name); seen.Params.Has(name) && !slices.Contains(allowed, value) {
			return failed(http.StatusBadRequest, "Bad Request", fmt.Sprintf("Invalid value %q for %s", value, name))
		}
	}
	var sent struct {
		Mutations     []map[string]json.RawMessage `json:"mutations"`
		TransactionID string                       `json:"transactionId"`
	}
	if err := json.Unmarshal(seen.Body, &sent); err != nil || len(sent.Mutations) == 0 {
		return failed(http.StatusBadRequest, "Bad Request", "the body must be an object with a list of mutations")
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tooFast() {
		return failed(http.StatusTooManyRequests, "Too Many Requests", "mutation rate limit reached")
	}
	if sent.TransactionID == "" {
		s.serial++
		sent.TransactionID = "stand-in-" + strconv.Itoa(s.serial)
	}
	if s.transactions[sent.TransactionID] {
		return mutationFailed(-1, &mutationFailure{http.StatusConflict, "transactionAlreadyExistsError", "the transaction id is taken", ""})
	}
	next := maps.Clone(s.docs)
	results := []result{}
	for i, m := range sent.Mutations {
		did, failure := s.apply(next, m)
		if failure != nil {
			return mutationFailed(i, failure)
		}
		if seen.Params.Get("returnIds") != "true" {
			did.ID = ""
		}
		if seen.Params.Get("returnDocuments") != "true" {
			did.Document = nil
		}
		results = append(results, did)
	}
	if seen.Params.Get("dryRun") != "true" {
		s.docs = next
		s.transactions[sent.TransactionID] = true
	}
	return answer{http.StatusOK, encode(map[string]any{"transactionId": sent.TransactionID, "results": results})}
}

// apply runs one mutation on a copy of the documents.
func (s *Server) apply(docs map[string]json.RawMessage, m map[string]json.RawMessage) (result, *mutationFailure) {
	bad := func(description string) *mutationFailure {
		return &mutationFailure{http.StatusBadRequest, "validationError", description, ""}
	}
	if len(m) != 1 {
		return result{}, bad("a mutation has exactly one operation")
	}
	for kind, raw := range m {
		switch kind {
		case "create", "createIfNotExists", "createOrReplace":
			d, problem := readDocument(raw)
			if problem != "" {
				return result{}, bad(problem)
			}
			_, exists := docs[d.id]
			operation := "create"
			switch {
			case exists && kind == "create":
				return result{}, &mutationFailure{
					http.StatusConflict, "documentAlreadyExistsError",
					fmt.Sprintf("Document by ID %q already exists", d.id), d.id,
				}
			case exists && kind == "createIfNotExists":
				return result{ID: d.id, Operation: "none", Document: docs[d.id]}, nil
			case exists:
				operation = "update"
			}
			docs[d.id] = s.stamp(d)
			return result{ID: d.id, Operation: operation, Document: docs[d.id]}, nil
		case "delete":
			var what struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(raw, &what) != nil || checkID(what.ID) != "" {
				return result{}, bad("delete needs an id (deleting by a query is not understood)")
			}
			if _, exists := docs[what.ID]; !exists {
				return result{ID: what.ID, Operation: "none"}, nil
			}
			delete(docs, what.ID)
			return result{ID: what.ID, Operation: "delete"}, nil
		}
	}
	return result{}, bad("the stand-in does not understand this operation")
}

// stamp adds what the original adds to a document.
func (s *Server) stamp(d document) json.RawMessage {
	s.serial++
	now := s.opts.Now().UTC().Format(time.RFC3339)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(d.raw, &fields); err != nil {
		panic(err) // it was read a moment ago
	}
	fields["_createdAt"], fields["_updatedAt"] = encode(now), encode(now)
	fields["_rev"] = encode("rev-" + strconv.Itoa(s.serial))
	return encode(fields)
}

// tooFast counts a transaction and reports whether it is one too many.
func (s *Server) tooFast() bool {
	if s.opts.MutationsPerSecond <= 0 {
		return false
	}
	now := s.opts.Now()
	s.recent = slices.DeleteFunc(s.recent, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	if len(s.recent) >= s.opts.MutationsPerSecond {
		return true
	}
	s.recent = append(s.recent, now)
	return false
}

// mutationFailed is an error of the mutate API. The index names the mutation; -1: all.
func mutationFailed(index int, f *mutationFailure) answer {
	item := map[string]any{"type": f.typ, "description": f.description}
	if f.id != "" {
		item["id"] = f.id
	}
	return answer{f.status, encode(map[string]any{"error": map[string]any{
		"type":        "mutationError",
		"description": "The mutation(s) failed: " + f.description,
		"items":       []any{map[string]any{"error": item, "index": max(index, 0)}},
	}})}
}
