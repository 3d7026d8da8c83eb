package compose

import (
	"cmp"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Visitor returns the mail that thanks a visitor, with the PDF of the quote. The address
// may be a stranger's, so the mail repeats nothing from the request except a plain first
// name, the amounts, and choices that have a label in the content. Page is the address of
// the quote's page; without it the mail has no link.
func Visitor(d *pdf.Document, page string, attachment mail.Attachment) (mail.Message, error) {
	l, err := newLetter(d)
	if err != nil {
		return mail.Message{}, err
	}
	submitted, w, words := &d.Lead, l.Words, &l.Words.Mail.Visitor
	reference := lead.Reference(submitted.ID)

	l.Subject = cmp.Or(lead.OneLine(d.Texts[pdf.MailSubject]), words.Subject+" · "+reference)
	l.Intro = d.Paragraphs(pdf.MailIntro, words.Thanks)
	l.Closing = d.Paragraphs(pdf.MailClosing, words.Reply)
	l.Terms = d.Paragraphs(pdf.Terms, w.DisclaimerOf(submitted))
	l.Why = words.Why
	l.Inbox, l.Open = page, words.Open
	l.estimate(d)

	l.Hello = l.hello(submitted.Contact.FirstName)

	known := func(field, slug string) string {
		text := strings.TrimSpace(d.Labels[slug])
		if text != "" {
			text += l.amount(submitted, field, slug)
		}
		if text != "" && submitted.PriceStatus == lead.Unpriced && submitted.Price.Line(field, slug) == nil {
			text += " (" + w.Open + ")"
		}
		return text
	}
	l.Facts = facts([]fact{
		{w.Reference, reference, ""},
		{w.Date, w.DateOf(d.CreatedAt), ""},
		{w.ProjectType, known("projectType", submitted.Selections.ProjectType), ""},
		{w.Complexity, known("complexity", submitted.Selections.Complexity), ""},
		{w.Timeline, known("timeline", submitted.Selections.Timeline), ""},
	})
	for _, slug := range submitted.Selections.Features {
		if text := known("features", slug); text != "" {
			l.Features = append(l.Features, text)
		}
	}

	m, err := l.message("visitor")
	m.Attachments = []mail.Attachment{attachment}
	return m, err
}
