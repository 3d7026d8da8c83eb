package content

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// SettingsType is the document type of the site's settings. Like the options of the quote
// calculator, they are fetched even if the site's types leave them out.
const SettingsType = "siteSettings"

// Places that a telephone number can be shown at.
const (
	DisplayContact = "contact"
	DisplayFooter  = "footer"
)

// Settings is the settings document as clients get it, and values only for the PDF.
type Settings struct {
	Shown       *schema.SiteSettings
	CompanyName string
	Accent      string
	Website     string
}

// jsonObject is an object of the settings document. Its fields may be of any type: a
// malformed one is left out and logged, so that the others are still served.
type jsonObject struct {
	fields map[string]json.RawMessage
	log    zerolog.Logger // says where the object is in the document
}

// read decodes a field, or returns false if it is missing, null or of another type.
func (o jsonObject) read(name string, to any) bool {
	raw := o.fields[name]
	if len(raw) == 0 || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, to); err != nil {
		o.log.Warn().Str("field", name).Msg("leaving out a field of the wrong type")
		return false
	}
	return true
}

// text returns a string field, or nil if it is missing, empty or of another type.
func (o jsonObject) text(name string) *string {
	var s string
	if !o.read(name, &s) || strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

// object returns an object field, or false if it is missing or of another type.
func (o jsonObject) object(name string) (jsonObject, bool) {
	field := jsonObject{log: o.log.With().Str("in", name).Logger()}
	return field, o.read(name, &field.fields)
}

// texts returns an object field whose own fields are all texts, or nil if it is missing
// or of another type.
func texts[T any](o jsonObject, name string) *T {
	field, ok := o.object(name)
	if !ok {
		return nil
	}

	usable := map[string]*string{}
	for name := range field.fields {
		usable[name] = field.text(name)
	}

	var object T
	if data, err := json.Marshal(usable); err != nil || json.Unmarshal(data, &object) != nil {
		return nil // T has a field that is not a text
	}
	return &object
}

func newSettings(doc *cms.Document, log zerolog.Logger) *Settings {
	d := jsonObject{log: log.With().Str("document", doc.ID).Logger()}

	// This cannot fail: a document whose fields are not an object was left out before.
	_ = json.Unmarshal(doc.Fields, &d.fields)

	s := &schema.SiteSettings{
		ContactPhone:  d.text("contactPhone"),
		ContactEmail:  d.text("contactEmail"),
		ContactPhones: phones(d),
		SocialLinks:   texts[schema.SocialLinks](d, "socialLinks"),
		Address:       texts[schema.PostalAddress](d, "address"),
		BusinessHours: texts[schema.BusinessHours](d, "businessHours"),
		Title:         d.text("title"),
		Website:       d.text("website"),
		PrivacyURL:    d.text("privacyUrl"),
	}

	// A site that only has the legacy number gets null instead of an empty list.
	if len(s.ContactPhones) == 0 && s.ContactPhone != nil {
		s.ContactPhones = nil
	}

	if logo, ok := d.object("logo"); ok {
		s.Logo = &schema.Logo{Asset: asset(logo), Alt: logo.text("alt")}
	}

	// In a PDF, whose pictures have no alternative text, the name stands beside the logo.
	companyName := firstText(d, "companyName", "siteName", "title")
	if companyName == "" && s.Logo != nil && s.Logo.Alt != nil {
		companyName = *s.Logo.Alt
	}

	return &Settings{
		Shown:       s,
		CompanyName: companyName,
		Accent:      firstText(d, "accentColor"),
		Website:     firstText(d, "website", "siteUrl"),
	}
}

// sizeInURL is how Sanity names pictures: by their size.
var sizeInURL = regexp.MustCompile(`-(\d{1,5})x(\d{1,5})\.\w+$`)

// asset returns a picture, or nil if there is none. Its size is in its metadata or its address.
func asset(logo jsonObject) *schema.ImageAsset {
	o, ok := logo.object("asset")
	if !ok {
		return nil
	}

	picture := &schema.ImageAsset{URL: o.text("url")}
	var metadata struct {
		Dimensions struct{ Width, Height *int }
	}
	o.read("metadata", &metadata)
	picture.Width, picture.Height = metadata.Dimensions.Width, metadata.Dimensions.Height

	if picture.Width == nil && picture.URL != nil {
		if size := sizeInURL.FindStringSubmatch(*picture.URL); size != nil {
			width, _ := strconv.Atoi(size[1]) // five digits
			height, _ := strconv.Atoi(size[2])
			picture.Width, picture.Height = &width, &height
		}
	}
	return picture
}

func firstText(d jsonObject, names ...string) string {
	for _, name := range names {
		if s := d.text(name); s != nil {
			return *s
		}
	}
	return ""
}

// phones returns the usable entries of the list, never nil. An entry needs a number and a
// place to be shown at.
func phones(d jsonObject) []*schema.ContactPhoneNumber {
	list := []*schema.ContactPhoneNumber{}
	var entries []json.RawMessage
	d.read("contactPhones", &entries)

	for i, entry := range entries {
		o := jsonObject{log: d.log.With().Int("phone", i).Logger()}
		if json.Unmarshal(entry, &o.fields) != nil {
			o.log.Warn().Msg("leaving out a phone that is not an object")
			continue
		}

		number, shown := o.text("number"), places(o)
		if number == nil || len(shown) == 0 {
			o.log.Warn().Msg("leaving out a phone without a number or a place")
			continue
		}

		list = append(list, &schema.ContactPhoneNumber{
			Number:          *number,
			DisplayLocation: shown,
			Label:           texts[schema.LocalizedString](o, "label"),
		})
	}
	return list
}

// places returns where a phone is shown, each place once.
func places(o jsonObject) []string {
	var names []any
	o.read("displayLocation", &names)

	var shown []string
	for _, name := range names {
		place, _ := name.(string)
		switch {
		case place != DisplayContact && place != DisplayFooter:
			o.log.Warn().Msg("leaving out an unknown place of a phone")
		case !slices.Contains(shown, place):
			shown = append(shown, place)
		}
	}
	return shown
}
