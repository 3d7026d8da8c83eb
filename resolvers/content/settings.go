package content

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// SettingsType is the document type of the site's settings. Like the options of the quote
// calculator, it is fetched even if it is not among the site's types.
const SettingsType = "siteSettings"

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

// newSettings returns the settings of a document. It omits and logs a field of the wrong
// type, so that the others are still served.
func newSettings(doc cms.Document, log zerolog.Logger) *Settings {
	var s struct {
		schema.SiteSettings
		AccentColor string
	}
	log = log.With().Str("document", doc.ID).Logger()
	if err := json.Unmarshal(doc.Fields, &s); err != nil { // all fields of the right type are decoded
		log.Warn().Err(err).Msg("leaving out a field of the wrong type")
	}
	clearBlanks(reflect.ValueOf(&s))

	if s.ContactPhone != nil {
		*s.ContactPhone = schema.CleanPhone(*s.ContactPhone)
	}
	s.ContactPhones = phones(s.ContactPhones, log)
	// A site that only has the legacy number gets null instead of an empty list.
	if len(s.ContactPhones) == 0 && s.ContactPhone != nil {
		s.ContactPhones = nil
	}

	// Pictures in a PDF have no alternative text, so the name is printed next to the
	// logo.
	name := s.Title
	if s.Logo != nil {
		setSize(s.Logo.Asset, doc)
		name = cmp.Or(name, s.Logo.Alt)
	}
	return &Settings{
		Shown:       &s.SiteSettings,
		CompanyName: schema.ValueOr(name, ""),
		Accent:      s.AccentColor,
		Website:     schema.ValueOr(s.Website, ""),
	}
}

// clearBlanks sets blank texts to null: they count as unset.
func clearBlanks(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if text, ok := v.Interface().(*string); ok && schema.Clean(schema.ValueOr(text, "")) == "" {
			v.SetZero()
		} else if !v.IsNil() {
			clearBlanks(v.Elem())
		}

	case reflect.Struct:
		for i := range v.NumField() {
			clearBlanks(v.Field(i))
		}

	case reflect.Slice:
		for i := range v.Len() {
			clearBlanks(v.Index(i))
		}
	}
}

// sizeInURL matches the size in the file name of a picture at Sanity.
var sizeInURL = regexp.MustCompile(`-(\d{1,5})x(\d{1,5})\.\w+$`)

// setSize sets the size of the logo from the picture's metadata, or else from its URL.
func setSize(picture *schema.ImageAsset, doc cms.Document) {
	if picture == nil {
		return
	}

	var of struct {
		Logo struct {
			Asset struct {
				Metadata struct {
					Dimensions struct{ Width, Height *int }
				}
			}
		}
	}
	_ = json.Unmarshal(doc.Fields, &of) // metadata of another form is ignored
	if size := of.Logo.Asset.Metadata.Dimensions; size.Width != nil && size.Height != nil {
		picture.Width, picture.Height = size.Width, size.Height
		return
	}

	if size := sizeInURL.FindStringSubmatch(schema.ValueOr(picture.URL, "")); size != nil {
		width, _ := strconv.Atoi(size[1]) // at most five digits
		height, _ := strconv.Atoi(size[2])
		picture.Width, picture.Height = &width, &height
	}
}

// phones returns the usable entries of the list, never nil. An entry needs a number and a
// display location.
func phones(entries []*schema.ContactPhoneNumber, log zerolog.Logger) []*schema.ContactPhoneNumber {
	usable := []*schema.ContactPhoneNumber{}
	for i, phone := range entries {
		phone = cmp.Or(phone, &schema.ContactPhoneNumber{}) // an entry may be null
		var places []string
		for _, place := range phone.DisplayLocation {
			switch {
			case place != DisplayContact && place != DisplayFooter:
				log.Warn().Int("phone", i).Msg("leaving out an unknown display location of a phone")
			case !slices.Contains(places, place):
				places = append(places, place)
			}
		}

		phone.Number = schema.CleanPhone(phone.Number)
		if phone.Number == "" || len(places) == 0 {
			log.Warn().Int("phone", i).Msg("leaving out a phone without a number or a display location")
			continue
		}
		phone.DisplayLocation = places
		usable = append(usable, phone)
	}
	return usable
}
