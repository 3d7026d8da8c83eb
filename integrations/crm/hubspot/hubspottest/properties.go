package hubspottest

import (
	"encoding/json"
)

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

// Define creates a property directly, as if a user created it in HubSpot.
func (s *Server) Define(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs[kind+"."+name] = definition{Name: name}
}

// propertiesAPI lists and creates groups and properties.
func (s *Server) propertiesAPI(c call) response {
	if c.rest == "batch/read" {
		return s.readDefinitions(c)
	}

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

// readDefinitions returns those of up to 100 named properties that exist.
func (s *Server) readDefinitions(c call) response {
	var in struct {
		Archived bool
		Inputs   []struct{ Name string }
	}
	if json.Unmarshal(c.body, &in) != nil || len(in.Inputs) == 0 || len(in.Inputs) > 100 {
		return wrong(400, "VALIDATION_ERROR", "Batch input must contain between 1 and 100 inputs")
	}

	out, status, results := map[string]any{"status": "COMPLETE"}, 200, []any{}
	for _, input := range in.Inputs {
		if def := s.defs[c.kind+"."+input.Name]; def.Name != "" {
			results = append(results, def)
			continue
		}
		status, out["errors"] = 207, []any{map[string]any{"category": "OBJECT_NOT_FOUND"}}
	}
	out["results"] = results
	return response{status, out}
}
