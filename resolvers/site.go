package resolvers

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// Places a telephone number can be shown at.
const (
	displayContact = "contact"
	displayFooter  = "footer"
)

// siteSettings is the settings document in the form clients get, with what only the
// PDF uses of it.
type siteSettings struct {
	shown       *schema.SiteSettings
	companyName string
	accent      string
	website     string
}

// siteSettings is the rule of the root field `SiteSettings`. The document has no
// language, so every locale's content holds it; that of the default locale is read.
func (r *Resolver) siteSettings(ctx context.Context, id string) (*schema.SiteSettings, error) {
	if id != siteSettingsType {
		return nil, nil //nolint:nilnil // null without an error is what the contract asks for
	}
	snap, err := r.content.read(ctx, schema.DefaultLocale)
	if err != nil {
		return nil, translate(err)
	}
	if snap.settings == nil {
		return nil, nil //nolint:nilnil // as above
	}
	return snap.settings.shown, nil
}

// jsonObject is a document whose fields may be of any type: one malformed field must not
// take the settings down.
type jsonObject map[string]json.RawMessage

func parseObject(raw json.RawMessage) jsonObject {
	var o jsonObject
	if json.Unmarshal(raw, &o) != nil {
		return jsonObject{}
	}
	return o
}

// text returns a string field; nil where it is missing, empty or of another type.
func (o jsonObject) text(name string) *string {
	var s string
	if json.Unmarshal(o[name], &s) != nil || strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

// object returns an object field; false where it is missing or of another type.
func (o jsonObject) object(name string) (jsonObject, bool) {
	var field jsonObject
	if json.Unmarshal(o[name], &field) != nil || field == nil {
		return nil, false
	}
	return field, true
}

func newSiteSettings(doc *cms.Document, log zerolog.Logger) *siteSettings {
	d := parseObject(doc.Fields)
	s := &schema.SiteSettings{
		ContactPhone: d.text("contactPhone"),
		ContactEmail: d.text("contactEmail"),
	}
	s.ContactPhones = phones(d["contactPhones"], log)
	if len(s.ContactPhones) == 0 && s.ContactPhone != nil {
		s.ContactPhones = nil
	}
	if logo, ok := d.object("logo"); ok {
		s.Logo = &schema.Logo{}
		if asset, ok := logo.object("asset"); ok {
			s.Logo.Asset = &schema.ImageAsset{URL: asset.text("url")}
		}
	}
	if o, ok := d.object("socialLinks"); ok {
		s.SocialLinks = &schema.SocialLinks{
			Facebook: o.text("facebook"), Twitter: o.text("twitter"), Linkedin: o.text("linkedin"),
			Instagram: o.text("instagram"), Github: o.text("github"),
		}
	}
	if o, ok := d.object("address"); ok {
		s.Address = &schema.PostalAddress{
			Street: o.text("street"), City: o.text("city"), State: o.text("state"),
			ZipCode: o.text("zipCode"), Country: o.text("country"),
		}
	}
	if o, ok := d.object("businessHours"); ok {
		s.BusinessHours = &schema.BusinessHours{
			Monday: o.text("monday"), Tuesday: o.text("tuesday"), Wednesday: o.text("wednesday"),
			Thursday: o.text("thursday"), Friday: o.text("friday"), Saturday: o.text("saturday"), Sunday: o.text("sunday"),
		}
	}
	return &siteSettings{shown: s, companyName: firstText(d, "companyName", "siteName", "title"), accent: firstText(d, "accentColor"),
		website: firstText(d, "website", "siteUrl")}
}

func firstText(d jsonObject, names ...string) string {
	for _, name := range names {
		if s := d.text(name); s != nil {
			return *s
		}
	}
	return ""
}

// phones returns the usable entries of the list, never nil. An entry without a number
// is left out, as is a place other than `contact` and `footer`.
func phones(raw json.RawMessage, log zerolog.Logger) []*schema.ContactPhoneNumber {
	list := []*schema.ContactPhoneNumber{}
	var entries []json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &entries) != nil {
		log.Warn().Msg("leaving out contactPhones: not a list")
		return list
	}
	for i, entry := range entries {
		o := parseObject(entry)
		number := o.text("number")
		if number == nil {
			log.Warn().Int("index", i).Msg("leaving out a phone without a number")
			continue
		}
		p := &schema.ContactPhoneNumber{Number: *number, DisplayLocation: places(o["displayLocation"], i, log)}
		if label, ok := o.object("label"); ok {
			p.Label = &schema.LocalizedString{En: label.text("en"), Es: label.text("es"), Ro: label.text("ro")}
		}
		list = append(list, p)
	}
	return list
}

func places(raw json.RawMessage, index int, log zerolog.Logger) []string {
	shown := []string{}
	var names []any
	if len(raw) > 0 && json.Unmarshal(raw, &names) != nil {
		log.Warn().Int("index", index).Msg("leaving out the display locations of a phone: not a list")
	}
	for _, name := range names {
		switch name {
		case displayContact, displayFooter:
			shown = append(shown, name.(string))
		default:
			log.Warn().Int("index", index).Msg("leaving out an unknown display location of a phone")
		}
	}
	return shown
}
