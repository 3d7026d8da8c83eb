package hubspottest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// contacts serves the object's endpoints.
func (s *Server) contacts(r *http.Request, rest []string, body []byte, now time.Time) answer {
	writes := r.Method == http.MethodPatch || r.Method == http.MethodDelete ||
		r.Method == http.MethodPost && !slices.Equal(rest, []string{"batch", "read"})
	if writes && s.o.ReadOnly {
		return s.missingScopes("crm.objects.contacts.write")
	}
	switch {
	case r.Method == http.MethodGet && len(rest) == 0:
		return s.list(r)
	case r.Method == http.MethodPost && len(rest) == 0:
		return s.create(body, now)
	case r.Method == http.MethodPost && slices.Equal(rest, []string{"batch", "read"}):
		return s.readBatch(body, now)
	case r.Method == http.MethodPost && slices.Equal(rest, []string{"gdpr-delete"}):
		return s.gdprDelete(body)
	case len(rest) != 1:
		return s.nowhere()
	}
	byEmail := r.URL.Query().Get("idProperty") == "email"
	record := s.find(rest[0], byEmail)
	switch r.Method {
	case http.MethodGet:
		if record == nil {
			return s.notFound()
		}
		props := record.props
		if byEmail {
			var ok bool
			if props, ok = record.at(now.Add(-s.o.ReadLag)); !ok {
				return s.notFound()
			}
		}
		return answer{status: http.StatusOK, body: rendered(record, props, wanted(r.URL.Query()["properties"]))}
	case http.MethodPatch:
		return s.patch(record, body, now)
	case http.MethodDelete:
		if record != nil {
			s.account.remove(record)
		}
		return answer{status: http.StatusNoContent}
	}
	return s.wrong(http.StatusMethodNotAllowed, "", "HTTP 405 Method Not Allowed")
}

// find returns a contact by its id or by one of its addresses, or nil.
func (s *Server) find(key string, byEmail bool) *record {
	if byEmail {
		key = s.account.byEmail[lower(key)]
	}
	return s.account.contacts[key]
}

func (s *Server) list(r *http.Request) answer {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 10
	}
	results := []any{}
	for _, record := range s.sorted() {
		if len(results) == limit {
			break
		}
		results = append(results, rendered(record, record.props, wanted(r.URL.Query()["properties"])))
	}
	return answer{status: http.StatusOK, body: map[string]any{"results": results}}
}

func (s *Server) create(body []byte, now time.Time) answer {
	props, bad := s.accepted(body)
	if bad != nil {
		return *bad
	}
	email := lower(props["email"])
	if email == "" && props["firstname"] == "" && props["lastname"] == "" {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Error creating CONTACT. At least one of email, firstname or lastname is required.")
	}
	if id, ok := s.account.byEmail[email]; ok && email != "" {
		return s.exists(id)
	}
	if s.account.blocked[email] {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "The email address has been blocked by a GDPR delete")
	}
	record := s.account.add(props, now)
	return answer{status: http.StatusCreated, body: rendered(record, record.props, keys(props))}
}

func (s *Server) patch(record *record, body []byte, now time.Time) answer {
	if record == nil {
		return s.notFound()
	}
	props, bad := s.accepted(body)
	if bad != nil {
		return *bad
	}
	if email, ok := props["email"]; ok {
		if id, taken := s.account.byEmail[lower(email)]; taken && id != record.id {
			return s.exists(id)
		}
	}
	s.account.change(record, props, now)
	return answer{status: http.StatusOK, body: rendered(record, record.props, keys(props))}
}

// readBatch knows contacts by their primary address only.
func (s *Server) readBatch(body []byte, now time.Time) answer {
	var in struct {
		IDProperty string   `json:"idProperty"`
		Properties []string `json:"properties"`
		Inputs     []struct {
			ID string `json:"id"`
		} `json:"inputs"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON: "+err.Error())
	}
	if len(in.Inputs) == 0 || len(in.Inputs) > 100 {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Batch input must contain between 1 and 100 inputs")
	}
	results, missing := []any{}, []string{}
	for _, input := range in.Inputs {
		record := s.find(input.ID, in.IDProperty == "email")
		if record != nil {
			props, ok := record.at(now.Add(-s.o.ReadLag))
			if ok && (in.IDProperty != "email" || props["email"] == lower(input.ID)) {
				results = append(results, rendered(record, props, in.Properties))
				continue
			}
		}
		missing = append(missing, input.ID)
	}
	stamp := now.UTC().Format(time.RFC3339)
	out := map[string]any{"status": "COMPLETE", "results": results, "startedAt": stamp, "completedAt": stamp}
	if len(missing) == 0 {
		return answer{status: http.StatusOK, body: out}
	}
	out["numErrors"] = 1
	out["errors"] = []any{map[string]any{
		"status": "error", "category": "OBJECT_NOT_FOUND", "context": map[string]any{"ids": missing},
		"message": "Could not get some CONTACT objects, they may be deleted or not exist. Check that ids are valid.",
	}}
	return answer{status: http.StatusMultiStatus, body: out}
}

// gdprDelete deletes for good. An address that is not found is blocked.
func (s *Server) gdprDelete(body []byte) answer {
	var in struct {
		ObjectID   string `json:"objectId"`
		IDProperty string `json:"idProperty"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.ObjectID == "" {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON: objectId is required")
	}
	byEmail := in.IDProperty == "email"
	record := s.find(in.ObjectID, byEmail)
	switch {
	case record != nil:
		s.account.remove(record)
	case byEmail:
		s.account.blocked[lower(in.ObjectID)] = true
	default:
		return s.notFound()
	}
	return answer{status: http.StatusNoContent}
}

// rendered is a contact as the API shows it: the properties asked for, null where one
// has no value, and those that are always there.
func rendered(r *record, props map[string]string, names []string) map[string]any {
	shown := map[string]any{
		"hs_object_id": r.id, "createdate": stamp(r.created), "lastmodifieddate": stamp(r.past[len(r.past)-1].from),
	}
	if len(names) == 0 {
		names = []string{"email", "firstname", "lastname"}
	}
	for _, name := range names {
		if value, ok := props[name]; ok {
			shown[name] = value
		} else {
			shown[name] = nil
		}
		if name == "hs_additional_emails" && len(r.secondary) > 0 {
			shown[name] = strings.Join(r.secondary, ";")
		}
	}
	return map[string]any{
		"id": r.id, "properties": shown, "createdAt": shown["createdate"], "updatedAt": shown["lastmodifieddate"], "archived": false,
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// wanted takes lists apart, given repeatedly or joined by commas.
func wanted(lists []string) []string {
	var names []string
	for _, list := range lists {
		names = append(names, strings.Split(list, ",")...)
	}
	return names
}

func keys(props map[string]string) []string {
	var names []string
	for name := range props {
		names = append(names, name)
	}
	return names
}
