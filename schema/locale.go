package schema

import "slices"

// DefaultLocale is the language for requests that ask for none.
const DefaultLocale = LocaleEn

// Locales lists the languages of the site in the order of the schema.
func Locales() []Locale { return slices.Clone(AllLocale) }

// ParseLocale returns the locale with the given name.
func ParseLocale(name string) (Locale, bool) {
	l := Locale(name)
	return l, l.IsValid()
}

// LocaleOrDefault returns the locale with a name, or the default one if there is none.
func LocaleOrDefault(name string) Locale {
	if l, ok := ParseLocale(name); ok {
		return l
	}
	return DefaultLocale
}

// In returns the text in a language, or nil if it has none. A nil string has no text.
func (s *LocalizedString) In(l Locale) *string {
	if s == nil {
		return nil
	}

	return map[Locale]*string{
		LocaleEn: s.En,
		LocaleEs: s.Es,
		LocaleRo: s.Ro,
	}[l]
}
