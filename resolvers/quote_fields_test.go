package resolvers

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/quote"
	"siteapi/schema"
)

// TestEveryLeadFieldArrives: each field of the schema's input is a field of the lead, and submitQuote carries it over. The
// tests of the places that a lead goes to compare themselves with quote.Fields as well.
func TestEveryLeadFieldArrives(t *testing.T) {
	t.Parallel()
	known := quote.Fields()
	for _, path := range inputFields(schema.AST().Types["SubmitQuoteInput"], "") {
		if !slices.Contains(known, path) && path != "website" && path != "challengeToken" {
			t.Errorf("quote.Submission has no field for %s of SubmitQuoteInput", path)
		}
	}
	var in schema.SubmitQuoteInput
	fill(reflect.ValueOf(&in).Elem())
	encoded, err := json.Marshal(newSubmission(in))
	if err != nil {
		t.Fatal(err)
	}
	var lead map[string]any
	if err := json.Unmarshal(encoded, &lead); err != nil {
		t.Fatal(err)
	}
	for _, path := range known {
		if path == "id" || path == "submittedAt" {
			continue // the service's own
		}
		var value any = lead
		for name := range strings.SplitSeq(path, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if value == nil || reflect.ValueOf(value).IsZero() {
			t.Errorf("newSubmission leaves out %s", path)
		}
	}
}

// inputFields lists the paths of an input type's values.
func inputFields(def *ast.Definition, prefix string) []string {
	var paths []string
	for _, f := range def.Fields {
		if below := schema.AST().Types[f.Type.Name()]; below.Kind == ast.InputObject {
			paths = append(paths, inputFields(below, prefix+f.Name+".")...)
		} else {
			paths = append(paths, prefix+f.Name)
		}
	}
	return paths
}

// fill gives every field of a struct a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Float64:
		v.SetFloat(1)
	}
}
