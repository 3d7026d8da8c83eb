package hubspottest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is the stub's state of a contact or a deal.
type record struct {
	id        string
	props     map[string]string
	modified  time.Time
	histories map[string][]pastValue // by property, latest value first
	contacts  map[string]bool        // ids of the contacts that a deal is associated with
}

// pastValue is a current or former value of a property, and the time when it was set.
type pastValue struct {
	Value     string    `json:"value"`
	Timestamp time.Time `json:"timestamp"`
}

// secondary is the property that holds a contact's secondary addresses.
const secondary = "hs_additional_emails"

func lower(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// find returns the record with a value of a property, or nil. Without a property it finds
// by id; a contact is found by its primary and secondary addresses.
func (s *Server) find(kind, property, key string) *record {
	if property == "" {
		return s.records[kind][cmp.Or(s.merged[key], key)]
	}
	for _, r := range s.records[kind] {
		if property == "email" {
			addresses := append(strings.Split(r.props[secondary], ";"), r.props["email"])
			if slices.Contains(addresses, lower(key)) {
				return r
			}
		} else if r.props[property] == key {
			return r
		}
	}
	return nil
}

// create adds a record without properties.
func (s *Server) create(kind string) *record {
	s.serial++
	r := &record{
		id:        strconv.Itoa(s.serial),
		props:     map[string]string{},
		histories: map[string][]pastValue{},
		contacts:  map[string]bool{},
	}
	s.records[kind][r.id] = r
	return r
}

// change writes properties of a record at a time. An empty value clears a property.
func (s *Server) change(r *record, props map[string]string, at time.Time) {
	r.modified = time.Now()
	for name, value := range props {
		if name == "email" {
			value = lower(value)
		}
		if name == "dealstage" {
			closed := probability(value)
			r.props["hs_is_closed"] = strconv.FormatBool(closed == "0.0" || closed == "1.0")
			r.props["hs_is_closed_won"] = strconv.FormatBool(closed == "1.0")
		}
		r.props[name] = value
		r.histories[name] = append([]pastValue{{value, at.UTC()}}, r.histories[name]...)
	}
	maps.DeleteFunc(r.props, func(_, value string) bool { return value == "" })
}

// discard deletes a contact, or moves a deal to the recycling bin.
func (s *Server) discard(kind string, r *record) {
	delete(s.records[kind], r.id)
	if kind == "deals" {
		s.bin[kind] = append(s.bin[kind], r)
	}
}

// write creates or changes a record. HubSpot lists invalid properties in the text of its
// error message.
func (s *Server) write(c call, r *record) response {
	var in struct{ Properties map[string]string }
	if err := json.Unmarshal(c.body, &in); err != nil || in.Properties == nil {
		return wrong(400, "VALIDATION_ERROR", "Invalid input JSON: properties must be strings")
	}

	props, refused := in.Properties, []map[string]any{}
	for name, value := range props {
		if code, message := s.refusal(c.kind, r, name, value); code != "" {
			refused = append(refused,
				map[string]any{"isValid": false, "message": message, "error": code, "name": name})
		}
	}
	if len(refused) > 0 {
		return wrong(400, "VALIDATION_ERROR", "Property values were not valid: "+string(encode(refused)))
	}
	for _, required := range s.o.Required {
		kind, name, _ := strings.Cut(required, ".")
		if kind == c.kind && r == nil && props[name] == "" {
			return wrong(400, "VALIDATION_ERROR", "Required properties are missing", map[string]any{
				"code":    "MISSING_REQUIRED_PROPERTY",
				"context": map[string]any{"propertyName": []string{name}},
			})
		}
	}

	status := 200
	if r == nil {
		if other := s.find("contacts", "email", props["email"]); c.kind == "contacts" && other != nil {
			return wrong(409, "CONFLICT", "Contact already exists. Existing ID: "+other.id)
		}
		status, r = 201, s.create(c.kind)
	}
	s.change(r, props, time.Now())
	return response{status, r.shown(nil)}
}

// refusal returns the code and message with which HubSpot refuses a value of a property
// of r, which is nil for a new record.
func (s *Server) refusal(kind string, r *record, name, value string) (code, message string) {
	def := s.defs[kind+"."+name]
	switch {
	case def.Name == "":
		return "PROPERTY_DOESNT_EXIST", `Property "` + name + `" does not exist`
	case name == "email":
		if a, err := mail.ParseAddress(value); err != nil || a.Address != value {
			return "INVALID_EMAIL", "Email address is invalid"
		}
	case name == "deal_currency_code" && value != "EUR" && value != "RON":
		return "INVALID_OPTION", strconv.Quote(value) + " is not a part of the current effective currency codes for portal 1"
	case def.HasUniqueValue:
		for _, other := range append(slices.Collect(maps.Values(s.records[kind])), s.bin[kind]...) {
			if other != r && other.props[name] == value {
				return "CONFLICTING_UNIQUE_VALUE", value + " already has that value"
			}
		}
	}
	return "", ""
}

// readBatch finds records by ids, by a unique property, or contacts by primary addresses,
// but not by secondary addresses; or definitions of properties by their names.
func (s *Server) readBatch(c call) response {
	var in struct {
		IDProperty            string
		Properties            []string
		PropertiesWithHistory []string
		Inputs                []struct{ ID, Name string }
	}
	if json.Unmarshal(c.body, &in) != nil || len(in.Inputs) == 0 || len(in.Inputs) > 100 ||
		len(in.Inputs) > 50 && len(in.PropertiesWithHistory) > 0 {
		return wrong(400, "VALIDATION_ERROR", "Batch input must contain between 1 and 100 inputs")
	}

	out, results := response{200, map[string]any{"status": "COMPLETE"}}, []any{}
	for _, input := range in.Inputs {
		if input.ID+input.Name == "" {
			return wrong(400, "VALIDATION_ERROR", "An input has no id")
		}
		def, defined := s.defs[c.kind+"."+input.Name]
		r := s.find(c.kind, in.IDProperty, input.ID)
		switch {
		case defined:
			results = append(results, def)
		case r == nil || in.IDProperty == "email" && r.props["email"] != lower(input.ID):
			out.status, out.body["errors"] = 207, []any{map[string]any{"category": "OBJECT_NOT_FOUND"}}
		default:
			results = append(results, r.shown(in.Properties, in.PropertiesWithHistory...))
		}
	}
	out.body["results"] = results
	return out
}

// deletePermanently deletes a contact and its associations.
func (s *Server) deletePermanently(c call) response {
	var in struct{ ObjectID string }
	if c.kind != "contacts" || json.Unmarshal(c.body, &in) != nil || s.records["contacts"][in.ObjectID] == nil {
		return notFound()
	}
	s.discard("contacts", s.records["contacts"][in.ObjectID])
	for _, deal := range s.records["deals"] {
		delete(deal.contacts, in.ObjectID)
	}
	return response{204, nil}
}

// associate changes the associations of a deal with a contact.
func (s *Server) associate(c call, deal *record, rest string) response {
	parts := strings.Split(rest, "/")
	contact := parts[len(parts)-1]
	switch {
	case c.kind != "deals" || s.records["contacts"][contact] == nil:
		return notFound()
	case c.Method == "PUT" && strings.HasPrefix(rest, "associations/default/contacts/"):
		deal.contacts[contact] = true
		return response{200, map[string]any{"status": "COMPLETE", "results": []any{}}}
	case c.Method == "DELETE" && strings.HasPrefix(rest, "associations/contacts/"):
		delete(deal.contacts, contact)
		return response{204, nil}
	}
	return wrong(405, "", "method not allowed")
}

// shown returns a record in the API's format, with the histories of properties. Requested
// properties without a value are null.
func (r *record) shown(names []string, past ...string) map[string]any {
	props := map[string]any{"hs_object_id": r.id}
	for _, name := range names {
		props[name] = nil
		if value, ok := r.props[name]; ok {
			props[name] = value
		}
		if strings.HasSuffix(name, "lastmodifieddate") { // of contacts, and of deals with hs_
			props[name] = r.modified.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	histories := map[string]any{}
	for _, name := range past {
		histories[name] = r.histories[name]
	}
	return map[string]any{"id": r.id, "properties": props, "propertiesWithHistory": histories}
}

// condition is a filter of a search.
type condition struct {
	PropertyName, Operator, Value string
	Values                        []string
}

// matches reports whether a record meets the condition.
func (c condition) matches(r *record) bool {
	value := r.props[c.PropertyName]
	switch c.Operator {
	case "GTE":
		ms, err := strconv.ParseInt(c.Value, 10, 64)
		return err == nil && strings.HasSuffix(c.PropertyName, "lastmodifieddate") && r.modified.UnixMilli() >= ms
	case "EQ":
		return value == c.Value
	case "HAS_PROPERTY":
		return value != ""
	}
	return c.Operator == "IN" && slices.Contains(c.Values, value)
}

// search finds the records that meet all conditions of a group, in the order of their
// last changes.
func (s *Server) search(c call) response {
	var in struct {
		FilterGroups []struct{ Filters []condition }
		Sorts        []any
		Properties   []string
		Limit        int
		After        string
	}
	if json.Unmarshal(c.body, &in) != nil || in.Limit < 1 || in.Limit > 200 || len(in.Sorts) > 1 {
		return wrong(400, "VALIDATION_ERROR", "There was a problem with the request.")
	}

	var found []*record
	for _, r := range s.records[c.kind] {
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
	return response{200, out}
}
