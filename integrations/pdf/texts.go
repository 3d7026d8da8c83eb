package pdf

import (
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/lead"
)

// Names of the texts that a firm can write itself.
const (
	MailSubject = "mailSubject"
	MailIntro   = "mailIntro"
	MailClosing = "mailClosing"
	QuoteIntro  = "quoteIntro"
	Terms       = "terms"
	Thanks      = "thanks"
)

// TextNames lists the names of a firm's texts.
func TextNames() []string {
	return []string{MailSubject, MailIntro, MailClosing, QuoteIntro, Terms, Thanks}
}

// Texts are a firm's own texts in every language, by locale and name, as an editor wrote
// them. A missing one is replaced by ours.
type Texts struct {
	ValidityDays int                          `json:"validityDays,omitempty"` // 0: not known
	ByLocale     map[string]map[string]string `json:"texts"`
}

// placeholders are the placeholders in a firm's texts.
var placeholders = []string{"firstName", "reference", "company", "validUntil"}

// WithoutPlaceholders removes the known placeholders from a text.
func WithoutPlaceholders(text string) string {
	for _, name := range placeholders {
		text = strings.ReplaceAll(text, "{"+name+"}", "")
	}
	return text
}

// SetTexts sets the firm's texts in the document's language, with the placeholders filled
// in, and the last day of a quote to which the price rules gave none. A placeholder
// without a value is left out, with the blank before it and the commas around it.
func (d *Document) SetTexts(t *Texts) error {
	words, err := WordsIn(d.Locale)
	if err != nil {
		return err
	}

	price := lead.Price{}
	if d.Lead.Price != nil {
		price = *d.Lead.Price
	}
	if price.ValidUntil == "" && t.ValidityDays > 0 {
		price.ValidUntil = lead.Day(d.CreatedAt, t.ValidityDays)
		d.Lead.Price = &price
	}
	until := ""
	if day, err := time.Parse(time.DateOnly, price.ValidUntil); err == nil {
		until = words.DateOf(day)
	}

	values := []string{
		PlainName(d.Lead.Contact.FirstName), lead.Reference(d.Lead.ID), lead.OneLine(d.Company.Name), until,
	}
	d.Texts = map[string]string{}
	for name, text := range t.ByLocale[d.Locale] {
		d.Texts[name] = fillIn(text, values)
	}
	return nil
}

// fillIn replaces the placeholders of a text by their values.
func fillIn(text string, values []string) string {
	var pairs []string
	for i, name := range placeholders {
		if values[i] == "" {
			absent := regexp.MustCompile(strings.ReplaceAll(
				`(?m)^{}[,:;]?[ \x{a0}]*|,[ \x{a0}]*{},|,?[ \x{a0}]*{}`, "{}", `\{`+name+`\}`))
			text = absent.ReplaceAllString(text, "")
		}
		pairs = append(pairs, "{"+name+"}", values[i])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Paragraphs returns the lines of one of the firm's texts that are not blank, or else our
// own.
func (d *Document) Paragraphs(name string, own ...string) []string {
	var list []string
	for line := range strings.Lines(d.Texts[name]) {
		if line = lead.OneLine(line); line != "" {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return own
	}
	return list
}

// plainWords matches a name of up to three words that no mail program turns into a link.
var plainWords = regexp.MustCompile(`^(?:(?:^| )[\p{L}\p{M}\x{200C}\x{200D}'’‘´·‐‑-]{1,25}){1,3}$`)

// PlainName returns a first name if it is safe to show to a stranger, else an empty
// string.
func PlainName(typed string) string {
	name := strings.Join(strings.Fields(norm.NFC.String(typed)), " ")
	if !plainWords.MatchString(name) {
		return ""
	}
	return name
}
