package schema

import "slices"

// DefaultLocale is the language that is used where none is asked for.
const DefaultLocale = LocaleEn

// Locales lists the languages of the site in the order of the schema.
func Locales() []Locale { return slices.Clone(AllLocale) }

// ParseLocale returns the locale with that name.
func ParseLocale(name string) (Locale, bool) {
	l := Locale(name)
	return l, l.IsValid()
}
