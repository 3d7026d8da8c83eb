package pdf

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"siteapi/integrations/lead"
)

// words are the fixed texts of a document in one language, read from words/<locale>.json.
type words struct {
	tag language.Tag

	Title, Reference, Date string

	// Estimate and Guide are printed above and below the range.
	Estimate, Guide string

	// PreparedFor, Project, Features, Next and Note are the headings of sections.
	PreparedFor, Project, Features, Next, Note string

	ProjectType, Complexity, Timeline string
	Steps                             [3]string
	Disclaimer                        string

	Page      string // format with the page's number and the number of pages
	Day       string // format with day, month and year
	Months    [12]string
	CodeFirst bool // whether the currency is printed before the number
}

//go:embed words
var texts embed.FS

// wordsIn returns the texts in a locale, or in English if the locale is unknown.
func wordsIn(locale string) (*words, error) {
	data, err := texts.ReadFile("words/" + locale + ".json")
	if err != nil {
		locale = "en"
		data, err = texts.ReadFile("words/en.json")
	}

	w := &words{tag: language.Make(locale)}
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	return w, err
}

func (w *words) dateOf(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf(w.Day, t.Day(), w.Months[t.Month()-1], t.Year())
}

// nbsp keeps an amount and its currency on one line.
const nbsp = "\u00a0"

// span formats the range of an estimate in the document's language: "€12,000 – €18,000"
// in en and "12.000 – 18.000 €" in es. If both amounts are equal, only one is printed.
// Cents are printed only if one of the amounts has some.
func (s *sheet) span(e lead.Estimate) string {
	printer := message.NewPrinter(s.words.tag)

	sign, digits := s.print(e.Currency), 2
	if unit, err := currency.ParseISO(e.Currency); err == nil {
		sign = unit.String()
		digits, _ = currency.Standard.Rounding(unit)

		// If the typeface lacks the currency's symbol, its code is printed instead.
		symbol := printer.Sprint(currency.Symbol(unit))
		if symbol != "" && strings.IndexFunc(symbol, func(r rune) bool { return !s.family.Has(r) }) < 0 {
			sign = symbol
		}
	}

	if e.Min == math.Trunc(e.Min) && e.Max == math.Trunc(e.Max) {
		digits = 0
	}
	amount := func(value float64) string {
		return printer.Sprint(number.Decimal(value, number.Scale(digits)))
	}
	low, high := amount(e.Min), amount(e.Max)

	if !s.words.CodeFirst {
		if low != high {
			low += " – " + high
		}
		return low + nbsp + sign
	}

	if last, _ := utf8.DecodeLastRuneInString(sign); unicode.IsLetter(last) {
		sign += nbsp
	}
	if low == high {
		return sign + low
	}
	return sign + low + " – " + sign + high
}
