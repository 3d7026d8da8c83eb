package hubspottest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Contact is a contact as a test sees it.
type Contact struct {
	ID         string
	Properties map[string]string // properties that have a value
}

// record is a contact as it is stored.
type record struct {
	id        string
	props     map[string]string
	secondary []string // further addresses
	created   time.Time
	modified  time.Time
	histories map[string][]pastValue // of stage and status
}

func lower(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// find returns the contact with a primary or secondary address, or nil.
func (s *Server) find(email string) *record {
	for _, r := range s.contacts {
		if r.props["email"] == lower(email) || slices.Contains(r.secondary, lower(email)) {
			return r
		}
	}
	return nil
}

func (s *Server) add(props map[string]string) *record {
	s.serial++
	r := &record{
		id:        strconv.Itoa(s.serial),
		props:     map[string]string{},
		histories: map[string][]pastValue{},
		created:   time.Now(),
	}
	s.contacts[r.id] = r
	r.change(props)
	return r
}

// change writes properties. An empty value clears a property. The stage of a contact's
// life is written once, since HubSpot only moves it forward.
func (r *record) change(props map[string]string) {
	r.modified = time.Now()
	for name, value := range props {
		switch {
		case name == "email":
			r.props[name] = lower(value)
		case value == "":
			delete(r.props, name)
		case name != "lifecyclestage" || r.props[name] == "":
			r.props[name] = value
		}
	}
}

// Add makes a contact without a request and returns its id.
func (s *Server) Add(properties map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.add(properties)
	r.created = r.created.Add(-s.o.ReadLag)
	return r.id
}

// AddSecondary gives the contact with an address a secondary address.
func (s *Server) AddSecondary(email, further string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(email)
	r.secondary = append(r.secondary, lower(further))
}

// Remove deletes the contact with an address without a request.
func (s *Server) Remove(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(email); r != nil {
		delete(s.contacts, r.id)
		s.gone = append(s.gone, r)
	}
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

	all := make([]Contact, 0, len(s.contacts))
	for _, id := range slices.Sorted(maps.Keys(s.contacts)) {
		all = append(all, Contact{id, maps.Clone(s.contacts[id].props)})
	}
	return all
}

// contactsAPI serves the endpoints of contacts.
func (s *Server) contactsAPI(r *http.Request, rest string, body []byte) answer {
	names := strings.Split(strings.Join(r.URL.Query()["properties"], ","), ",")
	switch r.Method + " " + rest {
	case "GET ":
		return answer{http.StatusOK, map[string]any{"results": []any{}}}
	case "POST ":
		return s.create(body)
	case "POST search":
		return s.search(body)
	case "POST batch/read":
		return s.readBatch(body)
	case "POST gdpr-delete":
		var in struct{ ObjectID string }
		if json.Unmarshal(body, &in) != nil || s.contacts[in.ObjectID] == nil {
			return s.notFound()
		}
		delete(s.contacts, in.ObjectID)
		return answer{status: http.StatusNoContent}
	}

	key, err := url.PathUnescape(rest)
	if err != nil || strings.Contains(rest, "/") {
		return nowhere()
	}

	found := s.contacts[key]
	if r.URL.Query().Get("idProperty") == "email" {
		if found = s.find(key); found != nil && time.Since(found.created) < s.o.ReadLag {
			found = nil
		}
	}

	switch {
	case found == nil:
		return s.notFound()
	case r.Method == http.MethodGet:
		return answer{http.StatusOK, found.shown(names)}
	case r.Method == http.MethodPatch:
		props, refused := s.accepted(body)
		if refused != nil {
			return *refused
		}
		found.change(props)
		return answer{http.StatusOK, found.shown(nil)}
	}
	return s.wrong(http.StatusMethodNotAllowed, "", "HTTP 405 Method Not Allowed")
}

func (s *Server) notFound() answer {
	return s.wrong(http.StatusNotFound, "OBJECT_NOT_FOUND", "resource not found")
}

func (s *Server) create(body []byte) answer {
	props, refused := s.accepted(body)
	if refused != nil {
		return *refused
	}
	if r := s.find(props["email"]); r != nil {
		return s.wrong(http.StatusConflict, "CONFLICT", "Contact already exists. Existing ID: "+r.id)
	}
	return answer{http.StatusCreated, s.add(props).shown(nil)}
}

// readBatch finds contacts by their ids, or by their primary addresses only. The id of a
// merged contact finds the one that it became.
func (s *Server) readBatch(body []byte) answer {
	var in struct {
		IDProperty            string
		Properties            []string
		PropertiesWithHistory []string
		Inputs                []struct{ ID string }
	}
	if json.Unmarshal(body, &in) != nil || in.IDProperty != "email" && in.IDProperty != "" ||
		len(in.Inputs) == 0 || len(in.Inputs) > 100 {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR",
			"Batch input must contain between 1 and 100 inputs")
	}
	if len(in.PropertiesWithHistory) > 0 && len(in.Inputs) > 50 {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR",
			"The maximum number of inputs supported in a batch request for property histories is 50.")
	}

	results, missing := []any{}, []string{}
	for _, input := range in.Inputs {
		r := s.contacts[cmp.Or(s.merged[input.ID], input.ID)]
		if in.IDProperty == "email" {
			if r = s.find(input.ID); r != nil && r.props["email"] != lower(input.ID) {
				r = nil
			}
		}
		if r == nil {
			missing = append(missing, input.ID)
			continue
		}

		shown := r.shown(in.Properties)
		if len(in.PropertiesWithHistory) > 0 {
			shown["propertiesWithHistory"] = r.histories
		}
		results = append(results, shown)
	}

	out := map[string]any{"status": "COMPLETE", "results": results}
	if len(missing) == 0 {
		return answer{http.StatusOK, out}
	}

	ids := map[string]any{"ids": missing}
	out["errors"] = []any{map[string]any{
		"status":   "error",
		"category": "OBJECT_NOT_FOUND",
		"context":  ids,
	}}
	return answer{http.StatusMultiStatus, out}
}

// shown returns a contact as the API shows it. A requested property without a value is
// null.
func (r *record) shown(names []string) map[string]any {
	props := map[string]any{"hs_object_id": r.id}
	for _, name := range names {
		props[name] = nil
		if value, ok := r.props[name]; ok {
			props[name] = value
		}
		if name == "hs_additional_emails" && len(r.secondary) > 0 {
			props[name] = strings.Join(r.secondary, ";")
		}
	}
	return map[string]any{"id": r.id, "properties": props, "archived": false}
}

// accepted reads the properties of a request, or returns the answer that refuses them.
func (s *Server) accepted(body []byte) (map[string]string, *answer) {
	var in struct{ Properties map[string]*string }
	if err := json.Unmarshal(body, &in); err != nil || in.Properties == nil {
		a := s.wrong(http.StatusBadRequest, "VALIDATION_ERROR",
			"Invalid input JSON: properties must be strings")
		return nil, &a
	}

	props := map[string]string{}
	refused := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		stored, code := "", "NULL_VALUE"
		if value := in.Properties[name]; value != nil {
			stored, code = s.check(name, *value)
		}

		if code != "" {
			refused = append(refused, map[string]any{"isValid": false, "error": code, "name": name})
		}
		props[name] = stored
	}

	// HubSpot lists the refused properties in the text of the message.
	if len(refused) > 0 {
		a := s.wrong(http.StatusBadRequest, "VALIDATION_ERROR",
			"Property values were not valid: "+string(encode(refused)))
		return nil, &a
	}

	return props, nil
}

// check returns a value as it is stored, or HubSpot's code against it.
func (s *Server) check(name, value string) (stored, code string) {
	def, ok := s.defs[name]
	if !ok {
		return "", "PROPERTY_DOESNT_EXIST"
	}
	if value == "" { // clears the property
		return "", ""
	}

	if name == "email" {
		if a, err := mail.ParseAddress(value); err != nil || a.Address != value {
			return "", "INVALID_EMAIL"
		}
	}

	switch def.Type {
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil || strings.ContainsAny(value, "eE") {
			return "", "INVALID_DOUBLE"
		}
	case "datetime":
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return "", "INVALID_DATE"
		}
		// Whole seconds come back without a fraction.
		return at.UTC().Format(time.RFC3339Nano), ""
	case "enumeration":
		for part := range strings.SplitSeq(value, ";") {
			if !slices.Contains(def.options, part) {
				return "", "INVALID_OPTION"
			}
		}
	}

	return value, ""
}

// definition is a property of contacts.
type definition struct {
	Name      string `json:"name"`
	Label     string `json:"label"`
	Type      string `json:"type"`
	FieldType string `json:"fieldType"`
	GroupName string `json:"groupName"`
	options   []string
}

// standardDefinitions returns the properties that every account has.
func standardDefinitions() map[string]definition {
	defs := map[string]definition{}
	for _, name := range []string{
		"email", "firstname", "lastname", "phone", "company", "lifecyclestage", "hs_lead_status",
	} {
		defs[name] = definition{
			Name:      name,
			Label:     name,
			Type:      "string",
			FieldType: "text",
			GroupName: "contactinformation",
		}
	}
	return defs
}

// Define makes a property without a request. Options make it an enumeration.
func (s *Server) Define(name, kind, fieldType string, options ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs[name] = definition{Name: name, Label: name, Type: kind, FieldType: fieldType, options: options}
}

// Defined returns the type and field type of a property, such as "number/number". It is
// empty if there is no such property.
func (s *Server) Defined(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if def, ok := s.defs[name]; ok {
		return def.Type + "/" + def.FieldType
	}
	return ""
}

// propertiesAPI serves the endpoints of properties.
func (s *Server) propertiesAPI(method, rest string, body []byte) answer {
	var def definition
	decodeErr := json.Unmarshal(body, &def)

	switch {
	case s.o.NoSchemas:
		a := s.wrong(http.StatusForbidden, "MISSING_SCOPES",
			"This app hasn't been granted all required scopes to make this call.")
		a.body.(map[string]any)["errors"] = []any{map[string]any{
			"context": map[string]any{"requiredGranularScopes": []string{"crm.schemas.contacts.write"}},
		}}
		return a

	case method == http.MethodGet && rest != "":
		if def, ok := s.defs[rest]; ok {
			return answer{http.StatusOK, def}
		}
		return s.notFound()

	case method != http.MethodPost || rest != "" && rest != "groups":
		return nowhere()
	case decodeErr != nil || def.Name == "" || def.Label == "":
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "name and label are required")
	case rest == "groups" && s.groups[def.Name] || rest == "" && s.defs[def.Name].Name != "":
		return s.wrong(http.StatusConflict, "CONFLICT",
			fmt.Sprintf("Property named %s already exists", def.Name))
	case rest == "groups":
		s.groups[def.Name] = true
	case !s.groups[def.GroupName] || def.Type == "" || def.FieldType == "":
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR",
			"type, fieldType and an existing group are required")
	default:
		s.defs[def.Name] = def
	}

	return answer{http.StatusCreated, def}
}
