package schema

import (
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// DefaultLocale is the language for requests that ask for none.
const DefaultLocale = LocaleEn

// Locales lists the languages of the site in the order of the schema.
func Locales() []Locale { return slices.Clone(AllLocale) }

// ParseLocale returns the locale with the given name.
func ParseLocale(name string) (Locale, bool) {
	l := Locale(name)
	return l, l.IsValid()
}

// LocaleOrDefault returns the locale with the given name, or the default if there is none.
func LocaleOrDefault(name string) Locale {
	if l, ok := ParseLocale(name); ok {
		return l
	}
	return DefaultLocale
}

// AcceptedLocale returns the best match for the header Accept-Language, or the default.
func AcceptedLocale(h http.Header) Locale {
	var tags []language.Tag // the first one is the default
	for _, l := range AllLocale {
		tags = append(tags, language.Make(string(l)))
	}
	_, index := language.MatchStrings(language.NewMatcher(tags), strings.Join(h["Accept-Language"], ","))
	return AllLocale[index]
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
