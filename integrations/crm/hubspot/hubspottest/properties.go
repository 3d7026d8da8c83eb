package hubspottest

import "encoding/json"

// definition is a property of a type of record.
type definition struct {
	Name           string `json:"name"`
	Label          string `json:"label"`
	Type           string `json:"type"`
	FieldType      string `json:"fieldType"`
	GroupName      string `json:"groupName"`
	HasUniqueValue bool   `json:"hasUniqueValue"`
}

// Defined returns the type and field type of a property of contacts, for example
// "number/number".
func (s *Server) Defined(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	def := s.defs["contacts."+name]
	return def.Type + "/" + def.FieldType
}

// define creates a group or a property.
func (s *Server) define(c call) response {
	var def definition
	err := json.Unmarshal(c.body, &def)
	isGroup, name := c.rest == "groups", c.kind+"."+def.Name

	switch {
	case err != nil || def.Name == "" || def.Label == "":
		return wrong(400, "VALIDATION_ERROR", "name and label are required")
	case isGroup && s.groups[name] || !isGroup && s.defs[name].Name != "":
		return wrong(409, "CONFLICT", "Property named "+def.Name+" already exists")
	case isGroup:
		s.groups[name] = true
	case !s.groups[c.kind+"."+def.GroupName] || def.Type == "" || def.FieldType == "":
		return wrong(400, "VALIDATION_ERROR", "type, fieldType and an existing group are required")
	default:
		s.defs[name] = def
	}
	return response{201, nil}
}
