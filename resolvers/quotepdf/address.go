package quotepdf

import (
	"net/url"
	"slices"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// companyLines returns the address and contact lines below the company's name, some with
// a link.
func companyLines(settings *content.Settings, locale schema.Locale) []pdf.Line {
	var lines []pdf.Line
	s := settings.Shown

	add := func(sep, link string, parts ...*string) {
		var words []string
		for _, p := range parts {
			if p != nil {
				words = append(words, strings.TrimSpace(*p))
			}
		}

		if len(words) > 0 {
			lines = append(lines, pdf.Line{Text: strings.Join(words, sep), Link: link})
		}
	}

	if a := s.Address; a != nil {
		for line := range strings.Lines(schema.ValueOr(a.Street, "")) {
			if strings.TrimSpace(line) != "" {
				add("", "", &line)
			}
		}
		if postcodeLast(schema.ValueOr(a.Country, "")) {
			add(" ", "", a.City, a.ZipCode)
		} else {
			add(" ", "", a.ZipCode, a.City)
		}
		add(", ", "", a.State, a.Country)
	}

	for _, p := range s.ContactPhones {
		if slices.Contains(p.DisplayLocation, content.DisplayContact) {
			add(": ", lead.TelephoneLink(p.Number), p.Label.In(locale), &p.Number)
		}
	}
	if len(s.ContactPhones) == 0 && s.ContactPhone != nil {
		add("", lead.TelephoneLink(*s.ContactPhone), s.ContactPhone)
	}

	if s.ContactEmail != nil {
		add("", "mailto:"+*s.ContactEmail, s.ContactEmail)
	}
	if u, err := url.Parse(settings.Website); err == nil && u.Scheme == "https" {
		add("", settings.Website, &u.Host)
	}
	return lines
}

// postcodeLast reports whether the postcode stands after the town in addresses of a
// country, whose code or name may be in any language of the site.
func postcodeLast(country string) bool {
	name := strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(country, ".", ""))), " ")
	return slices.Contains([]string{
		"gb", "uk", "united kingdom", "great britain", "england", "scotland", "wales", "northern ireland",
		"reino unido", "gran bretaña", "inglaterra", "escocia", "gales", "irlanda del norte",
		"regatul unit", "marea britanie", "anglia", "scoția", "țara galilor", "irlanda de nord",
		"us", "usa", "united states", "united states of america", "the united states",
		"estados unidos", "estados unidos de américa", "ee uu", "eeuu",
		"sua", "statele unite", "statele unite ale americii",
	}, name)
}
