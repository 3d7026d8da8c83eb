package compose

import (
	"fmt"

	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Assigned returns the mail that tells an operator which leads it was given, by their
// references. Inbox is the address where they are found; empty: the mail has the references
// only. Of the document it uses the language and the company.
func Assigned(d *pdf.Document, references []string, inbox string) (mail.Message, error) {
	w, err := pdf.WordsIn(d.Locale)
	if err != nil {
		return mail.Message{}, err
	}

	words := &w.Mail.Assigned
	l := &letter{
		locale:  d.Locale,
		subject: fmt.Sprintf(words.Subject, references[0]),
		company: pdf.Company{Name: d.Company.Name, Logo: d.Company.Logo, Accent: d.Company.Accent},
	}
	if len(references) > 1 {
		l.subject = fmt.Sprintf(words.SubjectAll, len(references))
	}

	l.title(l.subject)
	l.list("ul", references...)
	l.paragraph(words.Text)
	if inbox != "" {
		l.button(words.Open, inbox)
	}
	return l.message(), nil
}
