package operations

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// Audience is the group of assistants that sees a tool.
type Audience string

// Audiences.
const (
	Visitor  Audience = "VISITOR"
	Operator Audience = "OPERATOR"
)

// Tool describes how an operation is published to assistants.
type Tool struct {
	Name        string
	Description string // replaces the operation's, unless it is empty
	Audience    Audience
	Omit        []string // arguments that assistants cannot give
	Destructive bool
	Idempotent  bool

	arguments []Argument // the operation's arguments without the omitted ones
	defaults  *ast.Value // values of omitted arguments, including fields of objects; nil: none
}

// newTool reads @tool, given the arguments of its operation.
func newTool(d *ast.Directive, arguments []Argument) *Tool {
	t := &Tool{}
	read(d, t)
	t.arguments = slices.DeleteFunc(slices.Clone(arguments), func(a Argument) bool {
		return slices.Contains(t.Omit, a.Name)
	})
	if given := d.Arguments.ForName("defaults"); given != nil {
		t.defaults = given.Value
	}
	return t
}

// RunTool runs an operation with the arguments of a tool call. Null counts as omitted, so
// the default applies. An unknown argument, at any depth, is an error: a model would
// believe that it had an effect.
func (o *Operation) RunTool(
	ctx context.Context, e Executor, arguments map[string]any, zone *time.Location,
) (json.RawMessage, *schema.Error) {
	known := make([]string, len(o.Tool.arguments))
	for i, a := range o.Tool.arguments {
		known[i] = a.Name
	}

	var unknown []schema.FieldError
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if isUnknown := !slices.Contains(known, name); isUnknown && len(unknown) < schema.MaxFieldErrors {
			unknown = append(unknown, schema.UnknownField(name, known))
		} else if !isUnknown && arguments[name] != nil {
			continue
		}
		delete(arguments, name)
	}

	o.ReadDays(arguments, zone)
	variables := o.Bind(merged(arguments, o.Tool.defaultValues()))
	value, _, problem := o.run(ctx, e, variables, false, unknown)
	return value, problem
}

// Failures returns the failures of a change of leads that failed for all of them. It returns
// nil for any other response.
func (o *Operation) Failures(response json.RawMessage) []schema.LeadFailure {
	if o.Root.Definition.Type.Name() != "LeadsPayload" {
		return nil
	}

	var sum struct {
		Changed int
		Leads   []json.RawMessage
		Failed  []schema.LeadFailure
	}
	_ = json.Unmarshal(response, &sum) // the executor has written it
	if sum.Changed > 0 || len(sum.Leads) > 0 {
		return nil
	}
	return sum.Failed
}

// ReadDays replaces days among the arguments, such as 2026-01-31, by the times at which
// they begin in a zone. The day of `until` is included, so it stands for its end, unless
// that is not after `since`: the period is then refused instead of empty.
func (o *Operation) ReadDays(arguments map[string]any, zone *time.Location) {
	for _, arg := range o.Arguments {
		given, _ := arguments[arg.Name].(string)
		day, err := time.Parse(time.DateOnly, given)
		if err != nil || arg.Type.Name() != "DateTime" {
			continue
		}

		at := schema.StartOfDay(day, zone)
		if arg.Name == "until" {
			began, _ := arguments["since"].(string)
			since, _ := time.Parse(time.RFC3339, began) // zero: there is none, or it is refused
			if end := schema.StartOfDay(day.AddDate(0, 0, 1), zone); end.After(since) {
				at = end
			}
		}
		arguments[arg.Name] = at.Format(time.RFC3339)
	}
}

// defaultValues returns the values of omitted arguments. It evaluates them for each call,
// since the executor writes into the variables.
func (t *Tool) defaultValues() map[string]any {
	value, _ := t.defaults.Value(nil) // a literal of a valid document
	values, _ := value.(map[string]any)
	return values
}

// merged returns the given values, with defaults for those that are missing or blank, at any
// depth.
func merged(given, defaults map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, given)
	for name, value := range defaults {
		inner, isObject := value.(map[string]any)
		was, wasObject := out[name].(map[string]any)
		text, isText := out[name].(string)
		switch {
		case out[name] == nil, isText && schema.Clean(text) == "":
			out[name] = value
		case isObject && wasObject:
			out[name] = merged(was, inner)
		}
	}
	return out
}
