package compose

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Visitor returns the mail that thanks a visitor, with the PDF of the quote. The address may
// be a stranger's: nothing that was typed or sent is taken over but a plain first name, the
// amounts, and choices that the content knows.
func Visitor(d *pdf.Document, attachment mail.Attachment) (mail.Message, error) {
	w, err := pdf.WordsIn(d.Locale)
	if err != nil {
		return mail.Message{}, err
	}
	submitted, words := &d.Lead, w.Mail.Visitor
	reference := lead.Reference(submitted.ID)
	l := &letter{
		locale:  d.Locale,
		subject: words.Subject + " · " + reference,
		company: d.Company,
		footer:  words.Why,
	}

	hello := words.HelloAll
	if name := plainName(submitted.Contact.FirstName); name != "" {
		hello = fmt.Sprintf(words.Hello, name)
	}
	l.paragraph(hello)
	l.paragraph(words.Thanks)
	l.figure(w.Estimate, w.Range(submitted.Estimate, everyLetter), w.Guidance(submitted))

	known := func(field, slug string) string {
		text := strings.TrimSpace(d.Labels[slug])
		if text != "" && submitted.PriceStatus == lead.Unpriced && !submitted.Price.Has(field, slug) {
			text += " (" + w.Open + ")"
		}
		return text
	}
	l.facts(
		fact{label: w.Reference, value: reference},
		fact{label: w.Date, value: w.DateOf(d.CreatedAt)},
		fact{label: w.ProjectType, value: known("projectType", submitted.Selections.ProjectType)},
		fact{label: w.Complexity, value: known("complexity", submitted.Selections.Complexity)},
		fact{label: w.Timeline, value: known("timeline", submitted.Selections.Timeline)},
	)
	var features []string
	for _, slug := range submitted.Selections.Features {
		if text := known("features", slug); text != "" {
			features = append(features, text)
		}
	}
	if len(features) > 0 {
		l.heading(w.Features)
		l.list("ul", features...)
	}
	l.heading(w.Next)
	l.list("ol", w.Steps[:]...)
	l.paragraph(words.Attached + " " + words.Reply)
	l.small(w.Disclaimer)

	m := l.message()
	m.Attachments = []mail.Attachment{attachment}
	return m, nil
}

func everyLetter(rune) bool { return true }

// plain is a name of up to three words that no mail program turns into a link.
var plain = regexp.MustCompile(`^[\p{L}\p{M}'’-]{1,25}( [\p{L}\p{M}'’-]{1,25}){0,2}$`)

// plainName returns a first name that may be repeated to a stranger, or nothing.
func plainName(typed string) string {
	name := strings.Join(strings.Fields(norm.NFKC.String(typed)), " ")
	if !plain.MatchString(name) {
		return ""
	}
	return name
}
