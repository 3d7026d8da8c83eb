package quote

import (
	"reflect"
	"strings"
)

// Fields lists the JSON paths of what makes up a lead, such as "contact.email": all fields of a
// Submission but those about the request that brought it. Tests of each place that a lead goes
// to compare their list with it, so that a new field cannot be forgotten anywhere.
func Fields() []string {
	var paths []string
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "signals" || name == "inReview" || name == "rejected" || name == "trace" {
				continue
			}
			if path := prefix + name; field.Type.Kind() == reflect.Struct && field.Type.PkgPath() == t.PkgPath() {
				walk(field.Type, path+".")
			} else {
				paths = append(paths, path)
			}
		}
	}
	walk(reflect.TypeFor[Submission](), "")
	return paths
}
