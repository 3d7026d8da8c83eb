package hubspottest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// definition describes a property.
type definition struct {
	Name      string   `json:"name"`
	Label     string   `json:"label"`
	Type      string   `json:"type"`
	FieldType string   `json:"fieldType"`
	GroupName string   `json:"groupName"`
	Options   []option `json:"options"`

	readOnly bool
}

// option is one value of an enumeration.
type option struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// propertyName is what HubSpot takes for a name.
var propertyName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// fieldTypes lists how each type may be shown.
func fieldTypes() map[string][]string {
	return map[string][]string{
		"string": {"text", "textarea", "phonenumber", "file", "html"}, "number": {"number", "calculation_equation"},
		"datetime": {"date"}, "date": {"date"}, "bool": {"booleancheckbox"},
		"enumeration": {"checkbox", "select", "radio", "booleancheckbox"},
	}
}

// standardDefinitions are the properties every account has.
func standardDefinitions() map[string]definition {
	defs := map[string]definition{}
	for _, name := range []string{"email", "firstname", "lastname", "phone", "company", "city", "website"} {
		defs[name] = definition{Name: name, Label: name, Type: "string", FieldType: "text", GroupName: "contactinformation"}
	}
	for _, name := range []string{"hs_object_id", "hs_additional_emails", "createdate", "lastmodifieddate"} {
		defs[name] = definition{Name: name, Label: name, Type: "string", FieldType: "text", GroupName: "contactinformation", readOnly: true}
	}
	life := definition{Name: "lifecyclestage", Label: "Lifecycle Stage", Type: "enumeration", FieldType: "radio", GroupName: "contactinformation"}
	for _, stage := range stages() {
		life.Options = append(life.Options, option{stage, stage})
	}
	defs[life.Name] = life
	return defs
}

// Define makes a property without a request. Options make it an enumeration.
func (s *Server) Define(name, kind, fieldType string, options ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	def := definition{Name: name, Label: name, Type: kind, FieldType: fieldType, GroupName: "contactinformation"}
	for _, o := range options {
		def.Options = append(def.Options, option{o, o})
	}
	s.account.defs[name] = def
}

// Defined returns the type and field type of a property as "number/number", empty
// where there is none.
func (s *Server) Defined(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if def, ok := s.account.defs[name]; ok {
		return def.Type + "/" + def.FieldType
	}
	return ""
}

// properties serves the definitions' endpoints.
func (s *Server) properties(r *http.Request, rest []string, body []byte) answer {
	if s.o.NoSchemas && r.Method == http.MethodGet {
		return s.missingScopes("crm.schemas.contacts.read")
	}
	if s.o.NoSchemas {
		return s.missingScopes("crm.schemas.contacts.write")
	}
	switch {
	case r.Method == http.MethodGet && len(rest) == 0:
		return answer{status: http.StatusOK, body: map[string]any{"results": slices.Collect(maps.Values(s.account.defs))}}
	case r.Method == http.MethodGet && len(rest) == 1:
		def, ok := s.account.defs[rest[0]]
		if !ok {
			return s.wrong(http.StatusNotFound, "OBJECT_NOT_FOUND", fmt.Sprintf("Property %s does not exist", rest[0]))
		}
		return answer{status: http.StatusOK, body: def}
	case r.Method == http.MethodPost && len(rest) == 0:
		return s.defineProperty(body)
	case r.Method == http.MethodPost && slices.Equal(rest, []string{"groups"}):
		return s.defineGroup(body)
	}
	return s.nowhere()
}

func (s *Server) defineGroup(body []byte) answer {
	var g struct{ Name, Label string }
	if err := json.Unmarshal(body, &g); err != nil || !propertyName.MatchString(g.Name) || g.Label == "" {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid property group: name and label are required")
	}
	if _, ok := s.account.groups[g.Name]; ok {
		return s.wrong(http.StatusConflict, "CONFLICT", fmt.Sprintf("Property group named %s already exists", g.Name))
	}
	s.account.groups[g.Name] = g.Label
	return answer{status: http.StatusCreated, body: map[string]any{"name": g.Name, "label": g.Label, "displayOrder": -1, "archived": false}}
}

func (s *Server) defineProperty(body []byte) answer {
	var def definition
	if err := json.Unmarshal(body, &def); err != nil {
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON: "+err.Error())
	}
	switch {
	case !propertyName.MatchString(def.Name) || def.Label == "":
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Property name and label are required")
	case !slices.Contains(fieldTypes()[def.Type], def.FieldType):
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", fmt.Sprintf("fieldType %q is not valid for type %q", def.FieldType, def.Type))
	case s.account.groups[def.GroupName] == "":
		return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", fmt.Sprintf("Property group %q does not exist", def.GroupName))
	}
	if _, ok := s.account.defs[def.Name]; ok {
		return s.wrong(http.StatusConflict, "CONFLICT", fmt.Sprintf("Property named %s already exists", def.Name))
	}
	s.account.defs[def.Name] = def
	return answer{status: http.StatusCreated, body: def}
}
