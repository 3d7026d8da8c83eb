// Package leadtest helps to test that each system that receives leads handles all their
// fields. A test of each system compares it with [Fields] and reports the missing ones.
package leadtest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// requestFields lists the fields of a lead that describe its request, and how the service
// priced it.
var requestFields = []string{"signals", "inReview", "rejected", "trace", "sentEstimate", "price", "-"}

// operatorFields lists the fields of a lead that operators change and that no other
// system receives. Fields without a name in JSON are among them.
var operatorFields = []string{"outcome", "-"}

// Fields lists the JSON paths of the fields that make up a lead, such as "contact.email".
func Fields() (paths []string) {
	Fill(new(lead.Lead), func(path string) { paths = append(paths, path) })
	return slices.DeleteFunc(paths, func(path string) bool {
		field, _, _ := strings.Cut(path, ".")
		return slices.Contains(slices.Concat(requestFields, operatorFields), field)
	})
}

// listed holds a value of each type whose values are listed in package lead.
var listed = map[reflect.Type]string{
	reflect.TypeFor[lead.DeliveryState](): string(lead.Failed),
	reflect.TypeFor[lead.Target]():        string(lead.CRM),
	reflect.TypeFor[lead.NoMailReason]():  string(lead.MailFailed),
	reflect.TypeFor[lead.Event]():         string(lead.Created),
	reflect.TypeFor[lead.PriceStatus]():   string(lead.Verified),
	reflect.TypeFor[lead.Signal]():        string(lead.Honeypot),
	reflect.TypeFor[lead.OutcomeValue]():  string(lead.Won),
	reflect.TypeFor[lead.LossReason]():    string(lead.LostByPrice),
	reflect.TypeFor[lead.Status]():        string(lead.StatusClosed),
}

// Filled returns a lead with every field set. The value of a string is the path of its
// field, such as "contact.email", unless its type has a list of values.
func Filled() *lead.Lead {
	var s lead.Lead
	Fill(&s, func(string) {})

	s.Locale = "ro"
	s.Selections.Quantities[0].Slug = s.Selections.ProjectType
	s.Signals = []lead.Signal{
		lead.Honeypot,
		lead.TooFast,
		lead.Burst,
		lead.NoChallenge,
		lead.Untracked,
		lead.Unchecked,
		lead.EstimateMismatch,
		lead.UnpricedChoice,
	}

	return &s
}

// Without returns the lead of [Filled] with the field at a path cleared. Any output that
// shows the field differs between the two leads, however it words the value.
func Without(path string) *lead.Lead {
	s := Filled()
	at(s, path).SetZero()
	return s
}

// BeforeWork returns the lead of [Filled] as it was before operators worked on it. Other
// systems must receive the same data for both leads.
func BeforeWork() *lead.Lead {
	s := Filled()
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); slices.Contains(operatorFields, name) {
			value.SetZero()
		}
	}
	return s
}

// IsFreeText reports whether a visitor writes the value of a field.
func IsFreeText(path string) bool {
	v := at(Filled(), path)
	return v.Kind() == reflect.String && listed[v.Type()] == ""
}

// at returns the field of a lead at a path.
func at(s *lead.Lead, path string) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v = reflect.Indirect(v); v.Kind() == reflect.Slice {
			v = v.Index(0)
		}
		for field, value := range v.Fields() {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
				v = value
				break
			}
		}
	}
	return v
}

// Fill sets every field of the struct that v points to, and calls visit with the path of
// each.
func Fill(v any, visit func(path string)) { fill(reflect.ValueOf(v).Elem(), "", visit) }

func fill(v reflect.Value, path string, visit func(path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, visit)
		return

	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)))
			break
		}
		for field, value := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fill(value, strings.TrimPrefix(path+"."+name, "."), visit)
		}
		return

	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, visit)
		return

	case reflect.Map:
		if v.Type() == reflect.TypeFor[lead.Localized]() {
			v.Set(reflect.ValueOf(lead.Localized{"en": path}))
		}
	case reflect.String:
		if v.SetString(path); strings.HasSuffix(v.Type().PkgPath(), "/integrations/lead") {
			if v.SetString(listed[v.Type()]); v.String() == "" {
				panic("integrations/lead/leadtest: listed has no value of " + v.Type().String())
			}
		}
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	}
	visit(path)
}

// Missing returns the paths of [Fields] that are missing or empty in v, encoded as JSON.
func Missing(v any) (paths []string) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return []string{err.Error()}
	}

	for _, path := range Fields() {
		var node any
		_ = json.Unmarshal(encoded, &node)

		for name := range strings.SplitSeq(path, ".") {
			if list, ok := node.([]any); ok && len(list) > 0 {
				node = list[0]
			}
			object, _ := node.(map[string]any)
			node = object[name]
		}

		if node == nil || reflect.ValueOf(node).IsZero() {
			paths = append(paths, path)
		}
	}

	return paths
}
