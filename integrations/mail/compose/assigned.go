package compose

import (
	"fmt"

	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Assigned returns the mail that notifies an operator of newly assigned leads, by their
// references. Inbox is the address of the operators' inbox; without it the mail has no
// link. Only the language and the company of the document are used.
func Assigned(d *pdf.Document, references []string, inbox string) (mail.Message, error) {
	l, err := newLetter(d)
	if err != nil {
		return mail.Message{}, err
	}

	words := &l.Words.Mail.Assigned
	l.Subject = fmt.Sprintf(words.Subject, references[0])
	if len(references) > 1 {
		l.Subject = fmt.Sprintf(words.SubjectAll, len(references))
	}

	l.Company.Lines = nil // The company's own staff know its address.
	l.References, l.Intro = references, []string{words.Text}
	l.Inbox, l.Open = inbox, words.Open
	return l.message("notice")
}
