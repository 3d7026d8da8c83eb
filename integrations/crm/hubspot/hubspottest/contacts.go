package hubspottest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Contact is a stored contact.
type Contact struct {
	ID         string
	Properties map[string]string // properties that have a value
}

// record is the stub's state of a contact.
type record struct {
	id        string
	props     map[string]string
	modified  time.Time
	histories map[string][]pastValue // by property: stage and status, latest value first
}

// pastValue is a current or former value of a property, and the time when it was set.
type pastValue struct {
	Value     string    `json:"value"`
	Timestamp time.Time `json:"timestamp"`
}

// secondary is the property that holds a contact's secondary addresses.
const secondary = "hs_additional_emails"

func lower(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// find returns the contact that has a primary or secondary address, or nil.
func (s *Server) find(email string) *record {
	for _, r := range s.contacts {
		if slices.Contains(append(strings.Split(r.props[secondary], ";"), r.props["email"]), lower(email)) {
			return r
		}
	}
	return nil
}

// change writes properties of r, or of a new contact if r is nil. An empty value clears a
// property.
func (s *Server) change(r *record, props map[string]string) *record {
	if r == nil {
		s.serial++
		r = &record{strconv.Itoa(s.serial), map[string]string{}, time.Time{}, map[string][]pastValue{}}
		s.contacts[r.id] = r
	}

	r.modified = time.Now()
	for name, value := range props {
		r.props[name] = value
		if name == "email" {
			r.props[name] = lower(value)
		}
	}
	maps.DeleteFunc(r.props, func(_, value string) bool { return value == "" })
	return r
}

// Add creates a contact directly, as if a user created it in HubSpot.
func (s *Server) Add(properties map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(nil, properties)
}

// Remove deletes the contact with an address directly, as if a user deleted it in
// HubSpot.
func (s *Server) Remove(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.contacts, s.find(email).id)
}

// Move sets a contact's stage or status at a time, as if a user changed it in HubSpot.
func (s *Server) Move(email, property, value string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.change(s.find(email), map[string]string{property: value})
	r.histories[property] = append([]pastValue{{value, at.UTC()}}, r.histories[property]...)
}

// Contact returns the contact with a primary or secondary address.
func (s *Server) Contact(email string) (Contact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(email); r != nil {
		return Contact{r.id, maps.Clone(r.props)}, true
	}
	return Contact{}, false
}

// Contacts returns all contacts.
func (s *Server) Contacts() []Contact {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := []Contact{}
	for _, id := range slices.Sorted(maps.Keys(s.contacts)) {
		all = append(all, Contact{id, maps.Clone(s.contacts[id].props)})
	}
	return all
}

// contactsAPI serves the contact endpoints.
func (s *Server) contactsAPI(r *http.Request, rest string, body []byte) answer {
	switch r.Method + " " + rest {
	case "GET ":
		return answer{http.StatusOK, map[string]any{"results": []any{}}}
	case "POST ":
		return s.write(nil, body)
	case "POST search":
		return s.search(body)
	case "POST batch/read":
		return s.readBatch(body)
	case "POST gdpr-delete":
		var in struct{ ObjectID string }
		if json.Unmarshal(body, &in) != nil || s.contacts[in.ObjectID] == nil {
			return notFound()
		}
		delete(s.contacts, in.ObjectID)
		return answer{http.StatusNoContent, nil}
	}

	key, err := url.PathUnescape(rest)
	found := s.contacts[key]
	if r.URL.Query().Get("idProperty") == "email" {
		found = s.find(key)
	}
	switch {
	case err != nil || found == nil:
		return notFound()
	case r.Method == http.MethodPatch:
		return s.write(found, body)
	}
	return answer{http.StatusOK, found.shown(r.URL.Query()["properties"])}
}

// write creates or changes a contact. HubSpot lists invalid properties in the text of its
// error message.
func (s *Server) write(r *record, body []byte) answer {
	var in struct{ Properties map[string]*string }
	if err := json.Unmarshal(body, &in); err != nil || in.Properties == nil {
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON: properties must be strings")
	}

	props, refused := map[string]string{}, []map[string]any{}
	for name, value := range in.Properties {
		code := ""
		switch {
		case value == nil:
			code = "NULL_VALUE"
		case s.defs[name].Name == "":
			code = "PROPERTY_DOESNT_EXIST"
		case name == "email":
			if a, err := mail.ParseAddress(*value); err != nil || a.Address != *value {
				code = "INVALID_EMAIL"
			}
		}
		if code != "" {
			refused = append(refused, map[string]any{"isValid": false, "error": code, "name": name})
			continue
		}
		props[name] = *value
	}
	if len(refused) > 0 {
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Property values were not valid: "+string(encode(refused)))
	}

	if r != nil {
		return answer{http.StatusOK, s.change(r, props).shown(nil)}
	}
	if other := s.find(props["email"]); other != nil {
		return wrong(http.StatusConflict, "CONFLICT", "Contact already exists. Existing ID: "+other.id)
	}
	return answer{http.StatusCreated, s.change(nil, props).shown(nil)}
}

// readBatch finds contacts by ids or primary addresses, but not by secondary addresses.
func (s *Server) readBatch(body []byte) answer {
	var in struct {
		IDProperty            string
		Properties            []string
		PropertiesWithHistory []string
		Inputs                []struct{ ID string }
	}
	if json.Unmarshal(body, &in) != nil || len(in.Inputs) == 0 || len(in.Inputs) > 100 ||
		len(in.Inputs) > 50 && len(in.PropertiesWithHistory) > 0 {
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Batch input must contain between 1 and 100 inputs")
	}

	out := map[string]any{"status": "COMPLETE"}
	status, results := http.StatusOK, []any{}
	for _, input := range in.Inputs {
		r := s.contacts[input.ID]
		if in.IDProperty == "email" {
			if r = s.find(input.ID); r != nil && r.props["email"] != lower(input.ID) {
				r = nil
			}
		}
		if r == nil {
			status, out["errors"] = http.StatusMultiStatus, []any{map[string]any{"category": "OBJECT_NOT_FOUND"}}
			continue
		}

		shown := r.shown(in.Properties)
		if len(in.PropertiesWithHistory) > 0 {
			shown["propertiesWithHistory"] = r.histories
		}
		results = append(results, shown)
	}
	out["results"] = results
	return answer{status, out}
}

// shown returns a contact in the API's format. Requested properties without a value are
// null.
func (r *record) shown(names []string) map[string]any {
	props := map[string]any{"hs_object_id": r.id}
	for _, name := range names {
		props[name] = nil
		if value, ok := r.props[name]; ok {
			props[name] = value
		}
		if name == "lastmodifieddate" {
			props[name] = r.modified.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	return map[string]any{"id": r.id, "properties": props}
}

// condition is a filter of a search.
type condition struct {
	PropertyName, Operator, Value string
	Values                        []string
}

// matches reports whether a contact meets the condition.
func (c condition) matches(r *record) bool {
	value := r.props[c.PropertyName]
	switch c.Operator {
	case "GTE":
		ms, err := strconv.ParseInt(c.Value, 10, 64)
		return err == nil && c.PropertyName == "lastmodifieddate" && r.modified.UnixMilli() >= ms
	case "EQ":
		return value == c.Value
	}
	return c.Operator == "IN" && slices.Contains(c.Values, value)
}

// search finds the contacts that meet all conditions of a group, in the order of their
// last changes.
func (s *Server) search(body []byte) answer {
	var in struct {
		FilterGroups []struct{ Filters []condition }
		Sorts        []any
		Properties   []string
		Limit        int
		After        string
	}
	if json.Unmarshal(body, &in) != nil || in.Limit < 1 || in.Limit > 200 || len(in.Sorts) != 1 {
		return wrong(http.StatusBadRequest, "VALIDATION_ERROR", "There was a problem with the request.")
	}

	var found []*record
	for _, r := range s.contacts {
		for _, group := range in.FilterGroups {
			if !slices.ContainsFunc(group.Filters, func(c condition) bool { return !c.matches(r) }) {
				found = append(found, r)
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b *record) int { return a.modified.Compare(b.modified) })

	first, _ := strconv.Atoi(in.After)
	last := min(first+in.Limit, len(found))
	results := []any{}
	for _, r := range found[min(first, last):last] {
		results = append(results, r.shown(in.Properties))
	}
	out := map[string]any{"results": results}
	if last < len(found) {
		out["paging"] = map[string]any{"next": map[string]any{"after": strconv.Itoa(last)}}
	}
	return answer{http.StatusOK, out}
}
