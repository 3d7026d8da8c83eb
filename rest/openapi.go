package rest

import (
	"bytes"
	"cmp"
	_ "embed"
	stdjson "encoding/json"
	"strconv"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

//go:embed openapi.json.tmpl
var descriptionTemplate string

// description is the data of the OpenAPI template. Rendering the paths collects the types
// to which they refer, so the types are rendered after the paths.
type description struct {
	Version   string
	Paths     []Path
	Codes     []schema.Code
	MaxErrors int
	Types     *operations.Schemas
	Events    []event
}

// event describes an event that the service sends to the lead webhook.
type event struct {
	Kind, Summary string
	Schema        string // of its data
	Optional      bool   // sent only if LEAD_WEBHOOK_EVENTS has it
}

// events lists the events of the lead webhook.
func events() []event {
	return []event{
		{Kind: "created", Summary: "A lead was accepted, or released from review", Schema: "LeadCreated"},
		{Kind: "corrected", Summary: "The visitor's address was corrected", Schema: "LeadEvent", Optional: true},
		{Kind: "consent_withdrawn", Summary: "A consent of the visitor was withdrawn", Schema: "LeadEvent"},
		{Kind: "deletion_requested", Summary: "The visitor asked for the deletion of a lead", Schema: "LeadEvent"},
		{Kind: "outcome", Summary: "The outcome of a lead was set or cleared", Schema: "LeadEvent", Optional: true},
		{Kind: "erased", Summary: "A lead was erased: erase it, too", Schema: "LeadEvent"},
	}
}

func describe(paths []Path, version string) ([]byte, error) {
	d := description{
		Version:   cmp.Or(version, "0.0.0"),
		Paths:     paths,
		Codes:     schema.Codes(),
		MaxErrors: schema.MaxFieldErrors,
		Types:     &operations.Schemas{Named: map[string]*jsonschema.Schema{}},
		Events:    events(),
	}
	d.Types.Enum(exec.AST().Types["FieldCode"])

	parsed, err := template.New("openapi.json").Delims("<<", ">>").Funcs(template.FuncMap{
		"json":    encode,
		"problem": exampleProblem,
		"lower":   strings.ToLower,
		"status":  func(code string) int { return schema.Code(code).Status() },
	}).Parse(descriptionTemplate)
	if err != nil {
		return nil, err
	}

	var text, indented bytes.Buffer
	if err := parsed.Execute(&text, d); err != nil {
		return nil, err
	}
	err = stdjson.Indent(&indented, text.Bytes(), "", "  ")
	return indented.Bytes(), err
}

func encode(v any) (string, error) {
	text, err := json.Marshal(v, json.Deterministic(true))
	return string(text), err
}

// literal returns a value in a document as JSON, with its members in their original order.
func literal(v *ast.Value) string {
	var parts []string
	for _, child := range v.Children {
		text := literal(child.Value)
		if v.Kind == ast.ObjectValue {
			text = strconv.Quote(child.Name) + ":" + text
		}
		parts = append(parts, text)
	}

	switch v.Kind {
	case ast.ObjectValue:
		return "{" + strings.Join(parts, ",") + "}"
	case ast.ListValue:
		return "[" + strings.Join(parts, ",") + "]"
	case ast.StringValue, ast.BlockValue, ast.EnumValue:
		text, _ := encode(v.Raw) // a string can be encoded
		return text
	default:
		return v.Raw
	}
}

func exampleProblem(code schema.Code, detail string) Problem {
	e := schema.NewError(code, detail)
	if code == schema.CodeBadUserInput {
		e.Fields = []schema.FieldError{
			schema.Required("contact.email"),
			schema.TooLong("contact.company", schema.MaxNameLength),
		}
	}
	return NewProblem(e, "1h1kr32dxp7im")
}

// ID returns the id of the operation.
func (rt *Route) ID() string { return strings.ToLower(rt.Name[:1]) + rt.Name[1:] }

// Tag returns the group of the route: the first word of its path below /api/.
func (rt *Route) Tag() string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(rt.Path, "/api/"), "/")
	return tag
}

// Token returns the kind of token that the route requires, or "" if it requires none.
func (rt *Route) Token() string {
	auth := rt.Root.Definition.Directives.ForName("auth")
	if auth == nil {
		return ""
	}
	return auth.Arguments.ForName("token").Value.Raw
}

// parameter describes a parameter in a route's path or query string, or refers to the
// description of a request header.
type parameter struct {
	Ref         string             `json:"$ref,omitempty"`
	Name        string             `json:"name,omitempty"`
	In          string             `json:"in,omitempty"`
	Description string             `json:"description,omitempty"`
	Required    bool               `json:"required,omitzero"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
	Example     jsontext.Value     `json:"example,omitempty"`
}

// Parameters describes the parameters of a route, and the request headers that it reads.
func (d description) Parameters(rt *Route) []parameter {
	var list []parameter
	add := func(place string, arguments []operations.Argument) {
		for _, a := range arguments {
			p := parameter{
				Name:        a.Name,
				In:          place,
				Description: a.Description,
				Required:    place == "path" || a.Required(),
				Schema:      d.Types.Argument(a, false),
			}
			if example := rt.example(a.Name); example != nil {
				p.Example = jsontext.Value(literal(example))
			}
			list = append(list, p)
		}
	}
	add("path", rt.segments)
	add("query", rt.query)

	for _, name := range rt.Headers {
		list = append(list, parameter{Ref: "#/components/parameters/" + name})
	}
	return list
}

// example returns the example of a variable, or nil if the document gives none.
func (rt *Route) example(variable string) *ast.Value {
	return rt.Rest.Arguments.ForName("example").Value.Children.ForName(variable)
}

// BodySchema describes the value of a body.
func (d description) BodySchema(rt *Route) *jsonschema.Schema {
	if rt.body == nil {
		return d.Types.Object(rt.fields)
	}
	s := d.Types.Argument(*rt.body, true)
	if rt.body.Definition.Kind == ast.Scalar { // any JSON, of which a body is an object
		s.Type, s.MinLength, s.MinItems = "object", nil, nil
		s.Description = operations.OneLine(rt.Root.Definition.Arguments[0].Description)
	}
	return s
}

// BodyExample returns the example of a body.
func (rt *Route) BodyExample() string {
	if rt.body != nil {
		return literal(rt.example(rt.body.Name))
	}
	return literal(rt.Rest.Arguments.ForName("example").Value)
}

// ResponseText returns the description of the response.
func (d description) ResponseText(rt *Route) string {
	return operations.OneLine(exec.AST().Types[rt.Root.Definition.Type.Name()].Description)
}

// ResponseExample returns the example of the response.
func (rt *Route) ResponseExample() string {
	return literal(rt.Rest.Arguments.ForName("responseExample").Value)
}
