package pdf

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"siteapi/integrations/lead"
)

// nbsp keeps an amount and its currency on one line.
const nbsp = "\u00a0"

// money formats amounts of one currency in the document's language.
type money struct {
	printer   *message.Printer
	sign      string // symbol or code
	digits    int
	signFirst bool
}

// money returns the format of amounts in a currency, with cents only if one of them has
// cents. The function shown reports whether a letter can be shown.
func (w *Words) money(code string, shown func(rune) bool, amounts ...float64) money {
	printer := message.NewPrinter(w.tag)
	m := money{printer: printer, sign: code, digits: 2, signFirst: w.CodeFirst}
	if unit, err := currency.ParseISO(code); err == nil {
		m.sign = unit.String()
		m.digits, _ = currency.Standard.Rounding(unit)
		// The calculator shows the same narrow symbol: "€" in ro, too. One that can't be shown
		// is written as the code.
		symbol := printer.Sprint(currency.NarrowSymbol(unit))
		if symbol != "" && strings.IndexFunc(symbol, func(r rune) bool { return !shown(r) }) < 0 {
			m.sign = symbol
		}
	}

	if !slices.ContainsFunc(amounts, func(amount float64) bool { return amount != math.Trunc(amount) }) {
		m.digits = 0
	}
	if last, _ := utf8.DecodeLastRuneInString(m.sign); m.signFirst && unicode.IsLetter(last) {
		m.sign += nbsp
	}
	return m
}

func (m money) number(amount float64) string {
	return m.printer.Sprint(number.Decimal(amount, number.Scale(m.digits)))
}

// text writes one amount: "€12,000" in en, "12.000 €" in es.
func (m money) text(amount float64) string {
	if amount < 0 {
		return "-" + m.text(-amount)
	}
	if m.signFirst {
		return m.sign + m.number(amount)
	}
	return m.number(amount) + nbsp + m.sign
}

// Price returns the text of a lead's price: its range, or that the price is to be agreed.
// The function shown reports whether a letter can be shown.
func (w *Words) Price(l *lead.Lead, shown func(rune) bool) string {
	if l.ToBeAgreed() {
		return w.Agreed
	}
	return w.Range(l.Estimate, shown)
}

// Range formats the range of an estimate: "€12,000 – €18,000" in en, "12.000 – 18.000 €"
// in es. Equal bounds become one amount; a maximum of 0 becomes a price to be agreed.
func (w *Words) Range(e lead.Estimate, shown func(rune) bool) string {
	if e.Max == 0 {
		return w.Agreed
	}
	m := w.money(e.Currency, shown, e.Min, e.Max)
	low, high := m.number(e.Min), m.number(e.Max)
	switch {
	case low == high:
		return m.text(e.Min)
	case m.signFirst:
		return m.text(e.Min) + " – " + m.text(e.Max)
	default:
		return low + " – " + m.text(e.Max)
	}
}

// Guidance returns the explanation below the range of a lead.
func (w *Words) Guidance(l *lead.Lead) string {
	if l.ToBeAgreed() {
		return w.AgreedGuide
	}

	text := w.Guide
	if l.PriceStatus == lead.Unpriced {
		text = w.Unpriced
	}
	if l.Price == nil {
		return text
	}
	if day, err := time.Parse(time.DateOnly, l.Price.ValidUntil); err == nil {
		text += " " + fmt.Sprintf(w.ValidUntil, w.DateOf(day))
	}
	return text
}
