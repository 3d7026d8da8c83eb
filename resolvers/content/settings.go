package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// Display locations of a telephone number.
const (
	DisplayContact = "contact"
	DisplayFooter  = "footer"
)

// Settings holds the settings document for clients, and values for PDFs and mails.
type Settings struct {
	Shown       *schema.SiteSettings
	CompanyName string
	Accent      string
	Website     string
}

// newSettings returns the settings of a document with its texts in a locale. It omits a
// value of the wrong type and reports it, so that the others are still served.
func newSettings(doc cms.Document, locale string) (*Settings, []string) {
	var fields map[string]any
	_ = json.Unmarshal(doc.Fields, &fields) // the driver returns objects only
	r := reader{locale: locale}
	s := &Settings{Shown: &schema.SiteSettings{}}
	r.object("", fields, reflect.ValueOf(s.Shown).Elem())
	r.value("accentColor", fields["accentColor"], reflect.ValueOf(&s.Accent).Elem())

	if phone := s.Shown.ContactPhone; phone != nil {
		*phone = schema.CleanPhone(*phone)
	}
	s.Shown.ContactPhones = r.phones(s.Shown.ContactPhones)
	// A site that only has the legacy number gets null instead of an empty list.
	if len(s.Shown.ContactPhones) == 0 && s.Shown.ContactPhone != nil {
		s.Shown.ContactPhones = nil
	}

	// Pictures in a PDF have no alternative text, so the name is printed next to the
	// logo.
	name := s.Shown.Title
	if logo := s.Shown.Logo; logo != nil {
		name = cmp.Or(name, logo.Alt)
		addSize(logo.Asset, fields["logo"])
	}
	if picture := s.Shown.ShareImage; picture != nil {
		addSize(picture.Asset, fields["shareImage"])
	}
	s.CompanyName, s.Website = schema.ValueOr(name, ""), schema.ValueOr(s.Shown.Website, "")
	return s, r.problems
}

// addSize adds the size of a picture, which the object around its asset has.
func addSize(asset *schema.ImageAsset, picture any) {
	if holder, _ := picture.(map[string]any); asset != nil {
		asset.Width, asset.Height = whole(holder["width"]), whole(holder["height"])
	}
}

// whole returns a number of pixels, or nil if a picture can't have it.
func whole(value any) *int {
	number, ok := value.(float64)
	if !ok || number < 1 || number > math.MaxInt32 {
		return nil
	}
	return new(int(number))
}

// reader reads the fields of a document. A blank text counts as unset.
type reader struct {
	locale   string
	problems []string
}

// object reads an object into a struct.
func (r *reader) object(path string, fields map[string]any, into reflect.Value) {
	for i := range into.NumField() {
		name := into.Type().Field(i).Tag.Get("json")
		r.value(strings.TrimPrefix(path+"."+name, "."), fields[name], into.Field(i))
	}
}

// value reads one value. Where one string is needed, a localized value gives that of
// the locale.
func (r *reader) value(path string, value any, into reflect.Value) {
	var ok bool
	switch target := into.Addr().Interface().(type) {
	case *string:
		*target, ok = cms.Text(value, r.locale)

	case **string:
		var text string
		if text, ok = cms.Text(value, r.locale); schema.Clean(text) != "" {
			*target = &text
		}

	case **schema.LocalizedString:
		var texts map[string]string
		texts, ok = cms.Texts(value)
		maps.DeleteFunc(texts, func(_, text string) bool { return schema.Clean(text) == "" })
		if encoded, err := json.Marshal(texts); err == nil && len(texts) > 0 {
			ok = json.Unmarshal(encoded, target) == nil && ok
		}

	case **int:
		ok = true // set from the picture

	default:
		ok = r.nested(path, value, into)
	}

	if !ok {
		r.problems = append(r.problems, path+" has the wrong type")
	}
}

// nested reads an object or a list. It returns false if the value is neither.
func (r *reader) nested(path string, value any, into reflect.Value) bool {
	switch v := value.(type) {
	case nil:
		return true

	case map[string]any:
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.New(into.Type().Elem()))
			r.object(path, v, into.Elem())
			return true
		}

	case []any:
		if into.Kind() == reflect.Slice {
			into.Set(reflect.MakeSlice(into.Type(), len(v), len(v)))
			for i, item := range v {
				r.value(fmt.Sprintf("%s[%d]", path, i), item, into.Index(i))
			}
			return true
		}
	}
	return false
}

// phones returns the usable entries of the list, never nil. An entry needs a number and a
// display location.
func (r *reader) phones(entries []*schema.ContactPhoneNumber) []*schema.ContactPhoneNumber {
	usable := []*schema.ContactPhoneNumber{}
	for i, phone := range entries {
		phone = cmp.Or(phone, &schema.ContactPhoneNumber{}) // an entry may be null
		var places []string
		for _, place := range phone.DisplayLocation {
			switch {
			case place != DisplayContact && place != DisplayFooter:
				r.problems = append(r.problems,
					fmt.Sprintf("contactPhones[%d] has an unknown display location", i))
			case !slices.Contains(places, place):
				places = append(places, place)
			}
		}

		phone.Number = schema.CleanPhone(phone.Number)
		if phone.Number == "" || len(places) == 0 {
			r.problems = append(r.problems,
				fmt.Sprintf("contactPhones[%d] lacks a number or a display location", i))
			continue
		}
		phone.DisplayLocation = places
		usable = append(usable, phone)
	}
	return usable
}
