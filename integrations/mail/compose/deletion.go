package compose

import (
	"fmt"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// DeletionRequested returns the mail that notifies sales and the owner of a lead that its
// visitor asked for the deletion. It has no contact data.
func DeletionRequested(d *pdf.Document, of Reference) (mail.Message, error) {
	l, err := newLetter(d)
	if err != nil {
		return mail.Message{}, err
	}

	words, at := &l.Words.Mail.Deletion, d.Lead.DeletionRequestedAt.In(d.CreatedAt.Location())
	l.Subject = fmt.Sprintf(words.Subject, of.Name)
	l.Company.Lines = nil // The company's own staff know its address.
	l.References = []string{of.Name}
	l.Intro = []string{
		fmt.Sprintf(words.Text, l.Words.DateOf(at)),
		fmt.Sprintf(words.Deadline, l.Words.DateOf(monthAfter(at))),
	}
	l.Inbox, l.Open = of.Link, words.Open
	return l.message("notice")
}

// DeletionDeclined returns the mail that explains to a visitor why the deletion of the lead was
// declined. Page is the address of the quote's page; without it the mail has no link.
func DeletionDeclined(d *pdf.Document, page string) (mail.Message, error) {
	l, err := newLetter(d)
	if err != nil {
		return mail.Message{}, err
	}

	words, at := &l.Words.Mail.Declined, d.Lead.DeletionRequestedAt.In(d.CreatedAt.Location())
	reference := lead.Reference(d.Lead.ID)
	l.Subject = words.Subject + " · " + reference
	l.Hello = l.hello(d.Lead.Contact.FirstName)
	l.Intro = append([]string{fmt.Sprintf(words.Text, l.Words.DateOf(at))},
		strings.Split(lines(d.Lead.DeletionReason), "\n")...)
	l.Intro = append(l.Intro, l.Words.Site.Complain, words.Reply)
	l.Why = l.Words.Mail.Visitor.Why
	l.Inbox, l.Open = page, l.Words.Mail.Visitor.Open
	return l.message("notice")
}

// monthAfter returns the same day of the next month, or its last day: the time that the GDPR
// allows for a response.
func monthAfter(t time.Time) time.Time {
	next := t.AddDate(0, 1, 0)
	if next.Day() != t.Day() {
		next = next.AddDate(0, 0, -next.Day())
	}
	return next
}
