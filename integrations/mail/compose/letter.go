// Package compose writes the mails about a lead. The folder letters has two templates for
// each mail, one for its text and one for its HTML, which are executed with the same
// values.
package compose

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"image"
	_ "image/jpeg" // formats of logos
	_ "image/png"
	"slices"
	"strings"
	texttemplate "text/template"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

//go:embed letters
var files embed.FS

var functions = map[string]any{
	"upper": strings.ToUpper,
	"lines": func(text string) []string { return strings.Split(text, "\n") },
	"inc":   func(i int) int { return i + 1 },
	// The service builds all links; html/template would block tel: links.
	"link": func(address string) template.URL { return template.URL(address) }, //nolint:gosec // as above
}

var (
	pages = template.Must(template.New("").Funcs(functions).ParseFS(files, "letters/*.html"))
	plain = texttemplate.Must(texttemplate.New("").Funcs(functions).ParseFS(files, "letters/*.txt"))
)

// letter holds the values for the templates of a mail. Each mail uses some of them.
type letter struct {
	Locale, Subject string
	Words           *pdf.Words
	Company         pdf.Company
	Why             string // the reason for the mail

	Hello, Range, Guidance, Message string
	Reply                           string
	Intro, Closing, Terms           []string // paragraphs of the firm, or ours
	Contact, Facts, Consents        []fact
	Tax                             []pdf.Row
	Features, References            []string
	Inbox, Open                     string // address of the button, and its text
}

// newLetter returns a letter in the language of a document.
func newLetter(d *pdf.Document) (*letter, error) {
	words, err := pdf.WordsIn(d.Locale)
	return &letter{Locale: d.Locale, Words: words, Company: d.Company}, err
}

// hello returns the greeting of a visitor, with the first name if it is plain.
func (l *letter) hello(firstName string) string {
	words := &l.Words.Mail.Visitor
	if name := pdf.PlainName(firstName); name != "" {
		return fmt.Sprintf(words.Hello, name)
	}
	return words.HelloAll
}

// estimate sets the texts of the range panel.
func (l *letter) estimate(d *pdf.Document) {
	l.Range = l.Words.Price(&d.Lead)
	l.Guidance = l.Words.Guidance(&d.Lead)
	l.Tax = l.Words.Tax(&d.Lead)
}

// amount returns how the quantity of a choice is priced, such as " · 120 m² × 4.50 · €540". It
// is empty if the choice has no quantity.
func (l *letter) amount(of *lead.Lead, field, slug string) string {
	text := l.Words.Calculation(of, field, slug)
	if text == "" {
		return ""
	}
	if line := of.Price.Line(field, slug); line != nil {
		text += " · " + l.Words.Amount(of, line.Amount)
	}
	return " · " + text
}

// fact is a labeled value, optionally with a link.
type fact struct{ Label, Value, Link string }

// facts returns the facts that have a value.
func facts(list []fact) []fact {
	return slices.DeleteFunc(list, func(f fact) bool { return f.Value == "" })
}

// message executes the templates with a name. The caller adds the addresses.
func (l *letter) message(name string) (mail.Message, error) {
	var page, text bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name+".html", l); err != nil {
		return mail.Message{}, err
	}
	if err := plain.ExecuteTemplate(&text, name+".txt", l); err != nil {
		return mail.Message{}, err
	}

	return mail.Message{
		Subject: l.Subject,
		Locale:  l.Locale,
		Text:    strings.TrimRight(strings.ReplaceAll(text.String(), "\u00a0", " "), "\n") + "\n",
		HTML:    page.String(),
		Logo:    l.Company.Logo,
	}, nil
}

// Logo returns the displayed size of the company's logo, or nil if it has none.
func (l *letter) Logo() *image.Point {
	config, _, err := image.DecodeConfig(bytes.NewReader(l.Company.Logo))
	if err != nil {
		return nil
	}

	const height, most = 40, 220
	size := image.Pt(config.Width*height/max(config.Height, 1), height)
	if size.X > most {
		size = image.Pt(most, max(1, config.Height*most/config.Width))
	}
	return &size
}
