// Package operations contains the service's operation documents, one per file. Each defines a
// route (@rest), a command (@command) or an assistant's tool (@tool). The package loads and
// validates the documents, describes their variables and responses in JSON Schema, and runs
// them. A document has one root field, whose value is the response.
package operations

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/request"
)

//go:embed *.graphql
var documents embed.FS

//go:embed fragments/fragments.graphql
var fragments string // shared by the documents

const fragmentsFile = "fragments.graphql"

// Operation is an operation document.
type Operation struct {
	Name        string
	Title       string // first paragraph of the description, one line
	Description string // the other paragraphs, each one line

	Text     string
	Document *ast.QueryDocument
	*ast.OperationDefinition
	Root *ast.Field

	Variables []Argument
	Arguments []Argument // the variables, or the fields of the only one
	Rest      *Rest      // nil: no route
	Command   *Command   // nil: no command
	Tool      *Tool      // nil: no tool

	whole string // the only variable, if its fields are the arguments
}

// Argument is a value supplied by a caller: a variable, or a field of the only variable.
type Argument struct {
	Name        string
	Description string // one line, with the bounds that JSON Schema cannot express
	Type        *ast.Type
	Definition  *ast.Definition // the named type, or that of the items
	Default     *ast.Value      // nil: none
	Path        string          // where it is passed, such as selections.projectType

	constraint *ast.Directive
}

// Required reports whether the argument must be given.
func (a Argument) Required() bool { return a.Type.NonNull && a.Default == nil }

// Rest describes the route of an operation by the arguments of @rest.
type Rest struct {
	*ast.Directive `json:"-"`

	Method, Path                        string
	Query, BodyFields, Accepts, Headers []string
	Body                                string // the variable of the whole body; empty: none
	BodyLimit                           int64  // bytes
	Produces                            string // media type of a page or a download, empty for JSON
	Form                                bool
	Codes                               []string // errors that only this route returns
}

// Command describes how an operation is called on the command line.
type Command struct {
	Name     string   // full name, such as "leads list"
	Args     []string // positional arguments
	Columns  []string // paths in the response, or in an item of the list
	CSV      []string // the same for the CSV table; empty: Columns
	File     bool     // whether the columns of all pages are written as a file
	Typed    []string // columns, or beginnings of their paths, with text that a visitor typed
	Empty    []string // arguments that may be empty strings
	Finding  string   // path of a field that is not empty if something is wrong; empty: none
	Failure  string   // path of a field that is not empty if a part failed; empty: none
	Examples []string
	Confirm  string // question that must be confirmed first; empty: none
}

// All returns the service's operations, sorted by name.
func All() ([]*Operation, error) { return Load(documents) }

// Load returns the operations of the documents in a folder, sorted by name. Its error lists the
// problems of all documents, with their positions.
func Load(folder fs.FS) ([]*Operation, error) {
	files, err := fs.Glob(folder, "*.graphql")
	if err != nil {
		return nil, err
	}

	shared, err := parser.ParseQuery(&ast.Source{Name: fragmentsFile, Input: fragments})
	if err != nil {
		return nil, err
	}

	var list []*Operation
	var errs []error
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}

		op, err := load(file, string(text), shared.Fragments)
		list, errs = append(list, op), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("loading the operation documents:\n%w", err)
	}

	slices.SortFunc(list, func(a, b *Operation) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func load(file, text string, shared ast.FragmentDefinitionList) (*Operation, error) {
	doc, err := parser.ParseQuery(&ast.Source{Name: file, Input: text})
	if err != nil {
		return nil, err
	}
	text = schema.WithFragments(text, doc, shared)
	if doc, err = parser.ParseQuery(&ast.Source{Name: file, Input: text}); err != nil {
		return nil, err
	}
	if errs := validator.ValidateWithRules(exec.AST(), doc, rules.NewDefaultRules()); len(errs) > 0 {
		return nil, errs
	}
	if len(doc.Operations) != 1 {
		return nil, fmt.Errorf("%s: there are %d operations: put each into its own file", file,
			len(doc.Operations))
	}

	def := doc.Operations[0]
	op := &Operation{Name: def.Name, Text: text, Document: doc, OperationDefinition: def}
	if len(def.SelectionSet) == 1 {
		op.Root, _ = def.SelectionSet[0].(*ast.Field)
	}

	paragraphs := strings.Split(def.Description, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = OneLine(p)
	}
	op.Title, op.Description = paragraphs[0], strings.Join(paragraphs[1:], "\n\n")

	switch {
	case op.Root == nil || len(op.Root.Directives) > 0:
		return nil, op.Errorf(def.Position,
			"select exactly one root field, without directives: its value is the response")
	case op.Name == "" || op.Title == "":
		return nil, op.Errorf(def.Position, "give the operation a name and, above it, a description")
	}
	return op, op.directives()
}

// Errorf returns an error with its position in the document.
func (o *Operation) Errorf(pos *ast.Position, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", pos.Src.Name, pos.Line, pos.Column, fmt.Errorf(format, args...))
}

// directives reads the arguments, and the directives that publish the operation.
func (o *Operation) directives() error {
	for _, v := range o.VariableDefinitions {
		arg, ok := o.argument(v)
		if !ok {
			return o.Errorf(v.Position, "$%s is not passed to any argument", v.Variable)
		}
		o.Variables = append(o.Variables, arg)
	}
	o.Arguments = o.Variables
	if only := o.Variables; len(only) == 1 && only[0].Definition.Kind == ast.InputObject &&
		only[0].Type.Elem == nil {
		o.whole = only[0].Name
		o.Arguments = fieldsOf(only[0].Definition)
	}

	if d := o.Directives.ForName("rest"); d != nil {
		o.Rest = &Rest{Directive: d}
		read(d, o.Rest)
	}
	var named []string
	if d := o.Directives.ForName("command"); d != nil {
		o.Command = &Command{}
		read(d, o.Command)
		named = o.Command.Args
	}
	if d := o.Directives.ForName("tool"); d != nil {
		o.Tool = newTool(d, o.Arguments)
		named = slices.Concat(named, o.Tool.Omit, slices.Collect(maps.Keys(o.Tool.defaultValues())))
	}
	for _, name := range named {
		if o.Argument(name) == nil {
			return o.Errorf(o.Position,
				"@command(args), @tool(omit) or @tool(defaults) names %q, which is not an argument", name)
		}
	}

	if o.Rest == nil && o.Command == nil && o.Tool == nil {
		return o.Errorf(o.Position, "the operation is not published: add @rest, @command or @tool")
	}
	return nil
}

// read reads the arguments of a directive into the struct fields of the same names.
func read(d *ast.Directive, to any) {
	data, err := json.Marshal(d.ArgumentMap(nil))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil { // the schema has other types than the struct
		panic(err)
	}
}

// Argument returns the argument of this name, or nil if there is none.
func (o *Operation) Argument(name string) *Argument { return named(o.Arguments, name) }

// Variable returns the variable of this name, or nil if there is none.
func (o *Operation) Variable(name string) *Argument { return named(o.Variables, name) }

func named(list []Argument, name string) *Argument {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// Bind returns the variables for these arguments.
func (o *Operation) Bind(arguments map[string]any) map[string]any {
	if o.whole == "" {
		return arguments
	}
	return map[string]any{o.whole: arguments}
}

// Summary describes the operation for the access log.
func (o *Operation) Summary() request.Operation {
	return request.Operation{Type: string(o.Operation), Name: o.Name, RootFields: []string{o.Root.Name}}
}

// Role returns the lowest role that may run the operation. It is empty if none is required.
func (o *Operation) Role() schema.Role {
	auth := o.Root.Definition.Directives.ForName("auth")
	switch {
	case auth == nil:
		return ""
	case auth.Arguments.ForName("role") == nil:
		return schema.RoleAdmin
	default:
		return schema.Role(auth.Arguments.ForName("role").Value.Raw)
	}
}

// argument returns the argument for a variable. Its bounds are those of the schema argument or
// input field to which the variable is passed.
func (o *Operation) argument(v *ast.VariableDefinition) (Argument, bool) {
	for _, given := range o.Root.Arguments {
		def := o.Root.Definition.Arguments.ForName(given.Name)
		at, path := place(&ast.FieldDefinition{
			Description: def.Description,
			Type:        def.Type,
			Directives:  def.Directives,
		}, given.Value, v.Variable)
		if at == nil {
			continue
		}

		arg := newArgument(v.Variable, cmp.Or(v.Description, at.Description), v.Type, v.Definition,
			v.DefaultValue, at.Directives)
		arg.Path = given.Name + path
		return arg, true
	}
	return Argument{}, false
}

// place returns the argument or the input field whose value is a variable, or nil, and its
// path below the argument, such as .projectType or [0].
func place(at *ast.FieldDefinition, value *ast.Value, variable string) (*ast.FieldDefinition, string) {
	if value.Kind == ast.Variable && value.Raw == variable {
		return at, ""
	}
	for i, child := range value.Children {
		below, path := at, fmt.Sprintf("[%d]", i)
		if value.Kind == ast.ObjectValue {
			below, path = exec.AST().Types[at.Type.Name()].Fields.ForName(child.Name), "."+child.Name
		}
		if found, rest := place(below, child.Value, variable); found != nil {
			return found, path + rest
		}
	}
	return nil, ""
}

// fieldsOf returns the fields of an input type as arguments.
func fieldsOf(def *ast.Definition) []Argument {
	list := make([]Argument, len(def.Fields))
	for i, f := range def.Fields {
		list[i] = newArgument(f.Name, f.Description, f.Type, exec.AST().Types[f.Type.Name()],
			f.DefaultValue, f.Directives)
	}
	return list
}

func newArgument(
	name, description string, typ *ast.Type, def *ast.Definition, value *ast.Value,
	directives ast.DirectiveList,
) Argument {
	constraint := directives.ForName("constraint")
	return Argument{name, describeBounds(description, typ, constraint), typ, def, value, name, constraint}
}

// At returns the value at a path of fields in a response, such as contact.email, or nil. Below a
// list it is the list of the items' values.
func At(value any, path string) any {
	if list, isList := value.([]any); isList && path != "" {
		values := make([]any, len(list))
		for i, item := range list {
			values[i] = At(item, path)
		}
		return values
	}

	field, below, deeper := strings.Cut(path, ".")
	object, _ := value.(map[string]any)
	if !deeper {
		return object[field]
	}
	return At(object[field], below)
}

// OneLine removes the line breaks of a description in the schema.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
