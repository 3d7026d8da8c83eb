package hubspottest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pastValue is a value that a property has or had, from a time on.
type pastValue struct {
	Value      string    `json:"value"`
	Timestamp  time.Time `json:"timestamp"`
	SourceType string    `json:"sourceType"`
}

// Move gives a contact a stage or a status, as a person in HubSpot would at a time.
func (s *Server) Move(email, property, value string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(email)
	r.props[property], r.modified = value, time.Now()
	past := pastValue{Value: value, Timestamp: at.UTC(), SourceType: "CRM_UI"}
	r.histories[property] = append([]pastValue{past}, r.histories[property]...)
}

// Merge merges the contact with an address into another one, which keeps its own stage and
// status.
func (s *Server) Merge(from, into string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, kept := s.find(from), s.find(into)
	kept.secondary = append(kept.secondary, old.props["email"])
	kept.modified = time.Now()
	delete(s.contacts, old.id)
	s.gone, s.merged[old.id] = append(s.gone, old), kept.id
}

// condition is a filter of a search.
type condition struct {
	PropertyName, Operator, Value string
	Values                        []string
}

// holds reports whether a contact meets the condition.
func (c condition) holds(r *record) bool {
	switch c.Operator {
	case "GTE":
		ms, err := strconv.ParseInt(c.Value, 10, 64)
		return err == nil && c.PropertyName == "lastmodifieddate" && r.modified.UnixMilli() >= ms
	case "EQ":
		return r.props[c.PropertyName] == c.Value
	case "IN": // HubSpot wants the values of texts in lower case.
		value := r.props[c.PropertyName]
		return value == strings.ToLower(value) && slices.Contains(c.Values, value)
	}
	return false
}

// search finds contacts by groups of conditions, in the order of their last changes. It
// finds those that are deleted or merged, too, as long as it has not noticed that.
func (s *Server) search(body []byte) answer {
	var in struct {
		FilterGroups []struct{ Filters []condition }
		Sorts        []struct{ PropertyName, Direction string }
		Properties   []string
		Limit        int
		After        string
	}
	if json.Unmarshal(body, &in) != nil || in.Limit < 1 || in.Limit > 200 || len(in.FilterGroups) > 5 ||
		len(in.Sorts) != 1 || in.Sorts[0].PropertyName != "lastmodifieddate" || in.Sorts[0].Direction != "ASCENDING" {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "There was a problem with the request.")
	}

	var found []*record
	for _, r := range slices.Concat(slices.Collect(maps.Values(s.contacts)), s.gone) {
		for _, group := range in.FilterGroups {
			if !slices.ContainsFunc(group.Filters, func(c condition) bool { return !c.holds(r) }) {
				found = append(found, r)
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b *record) int {
		if c := a.modified.Truncate(time.Millisecond).Compare(b.modified.Truncate(time.Millisecond)); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})

	first, _ := strconv.Atoi(in.After)
	if first >= 10_000 {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "The search is too deep.")
	}
	last := min(first+in.Limit, len(found))
	results := []any{}
	for _, r := range found[min(first, last):last] {
		shown := r.shown(in.Properties)
		shown["properties"].(map[string]any)["lastmodifieddate"] = r.modified.UTC().Format("2006-01-02T15:04:05.000Z")
		results = append(results, shown)
	}

	out := map[string]any{"total": len(found), "results": results}
	if last < len(found) {
		out["paging"] = map[string]any{"next": map[string]any{"after": strconv.Itoa(last)}}
	}
	return answer{http.StatusOK, out}
}
