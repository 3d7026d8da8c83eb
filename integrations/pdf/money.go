package pdf

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
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

// mostDigits is the maximum number of decimals of an amount of money.
const mostDigits = 4

// money returns the format of amounts in a currency, with cents only if one of them has
// cents, also in a currency that is usually written without, such as RSD.
func (w *Words) money(code string, amounts ...float64) money {
	printer := message.NewPrinter(w.tag)
	m := money{printer: printer, sign: code, digits: 2, signFirst: w.CodeFirst}
	if unit, err := currency.ParseISO(code); err == nil {
		m.sign = unit.String()
		m.digits, _ = currency.Standard.Rounding(unit)
		// The calculator shows the same narrow symbol: "€" in ro, too. One that can't be shown
		// is written as the code.
		symbol := printer.Sprint(currency.NarrowSymbol(unit))
		if symbol != "" && w.shows(symbol) {
			m.sign = symbol
		}
	}

	places := 0
	for _, amount := range amounts {
		_, fraction, _ := strings.Cut(strconv.FormatFloat(amount, 'f', -1, 64), ".")
		places = max(places, len(fraction))
	}
	if m.digits = max(m.digits, min(places, mostDigits)); places == 0 {
		m.digits = 0
	}
	if last, _ := utf8.DecodeLastRuneInString(m.sign); m.signFirst && unicode.IsLetter(last) {
		m.sign += nbsp
	}
	return m
}

// shows reports whether the letters of a text can be shown.
func (w *Words) shows(text string) bool {
	return w.shown == nil || !strings.ContainsFunc(text, func(r rune) bool { return !w.shown(r) })
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
func (w *Words) Price(l *lead.Lead) string {
	if l.ToBeAgreed() {
		return w.Agreed
	}
	return w.Range(l.Estimate)
}

// Range formats the range of an estimate: "€12,000 – €18,000" in en, "12.000 – 18.000 €"
// in es. Equal bounds become one amount; a maximum of 0 becomes a price to be agreed.
func (w *Words) Range(e lead.Estimate) string {
	if e.Max == 0 {
		return w.Agreed
	}
	return w.span(e)
}

// span formats the bounds of a range, also if they are 0.
func (w *Words) span(e lead.Estimate) string {
	m := w.money(e.Currency, e.Min, e.Max)
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
	return strings.TrimSpace(text + " " + l.Price.TaxNotes.In(w.tag.String()))
}

// Tax returns the tax of a lead's range: the net range, the tax and the total, or only the tax
// that the range includes. There are no rows if the rules state no tax or there is no price.
func (w *Words) Tax(l *lead.Lead) []Row {
	if l.Price == nil || l.Price.Tax == nil || l.ToBeAgreed() {
		return nil
	}

	t, net := l.Price.Tax, l.Estimate
	name := w.percent(t.Percent) + " " + cmp.Or(t.Labels.In(w.tag.String()), w.TaxName)
	tax := w.span(lead.Estimate{Min: t.Min, Max: t.Max, Currency: net.Currency})
	if t.Included {
		return []Row{{Label: fmt.Sprintf(w.Including, name), Value: tax}}
	}

	// Currencies have up to 4 decimals.
	sum := func(a, b float64) float64 { return math.Round((a+b)*1e4) / 1e4 }
	total := lead.Estimate{Min: sum(net.Min, t.Min), Max: sum(net.Max, t.Max), Currency: net.Currency}
	return []Row{
		{Label: w.Net, Value: w.span(net)},
		{Label: name, Value: tax},
		{Label: w.Total, Value: w.span(total)},
	}
}

// DisclaimerOf returns the disclaimer of a lead. It mentions taxes only if the price does not.
func (w *Words) DisclaimerOf(l *lead.Lead) string {
	if l.Price != nil && (l.Price.Tax != nil || len(l.Price.TaxNotes) > 0) {
		return w.DisclaimerTaxed
	}
	return w.Disclaimer
}

// Calculation returns the quantity of a choice and how it is priced, such as
// "120 m² × 4.50 + 50 + 10%". It is empty if the choice has no quantity. Units with different
// prices, and a choice without a price, have only the quantity.
func (w *Words) Calculation(l *lead.Lead, field, slug string) string {
	q := l.Selections.Quantity(slug)
	if q.Count == 0 {
		return ""
	}
	text := strings.TrimSpace(w.decimal(q.Count, 0) + nbsp + q.Units.In(w.tag.String()))

	line := l.Price.Line(field, slug)
	if line == nil || line.UnitPrice == nil {
		return text
	}
	amount := func(f float64) string { return w.decimal(f, w.money(l.Estimate.Currency, f).digits) }
	text += " ×" + nbsp + amount(*line.UnitPrice)
	if line.Flat != 0 {
		text += " +" + nbsp + amount(line.Flat)
	}
	if line.Percent < 0 {
		return text + " −" + nbsp + w.percent(-line.Percent)
	} else if line.Percent > 0 {
		return text + " +" + nbsp + w.percent(line.Percent)
	}
	return text
}

// Amount formats an amount in the currency of a lead.
func (w *Words) Amount(l *lead.Lead, amount float64) string {
	return w.money(l.Estimate.Currency, amount).text(amount)
}

// decimal formats a number with at most mostDigits decimals, and with at least this many.
func (w *Words) decimal(f float64, least int) string {
	format := number.Decimal(f, number.MinFractionDigits(least), number.MaxFractionDigits(mostDigits))
	return message.NewPrinter(w.tag).Sprint(format)
}

// percent formats a percentage: "19%" in en, "19 %" in es.
func (w *Words) percent(f float64) string {
	return message.NewPrinter(w.tag).Sprint(number.Percent(f/100, number.MaxFractionDigits(4)))
}
