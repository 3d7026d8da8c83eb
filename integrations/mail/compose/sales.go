package compose

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Reference names a lead. Link is its address in the operators' inbox, which may be empty.
type Reference struct{ Name, Link string }

// Sales returns the mail that notifies sales of a lead. Inbox is the address of the lead
// in the operators' inbox; without it the mail has no link. Others are leads of the same
// session.
func Sales(d *pdf.Document, inbox string, others ...Reference) (mail.Message, error) {
	l, err := newLetter(d)
	if err != nil {
		return mail.Message{}, err
	}
	submitted, w, words := &d.Lead, l.Words, &l.Words.Mail.Sales
	name := lead.OneLine(submitted.Contact.FirstName + " " + submitted.Contact.LastName)
	project := pdf.Label(submitted.Selections.ProjectType, d.Labels)

	l.Subject = fmt.Sprintf(words.Subject, name) + " · " + project
	l.Company.Lines = nil // The company's own staff know its address.
	l.estimate(d)
	l.Message = lines(submitted.Message)
	l.Consents = consentFacts(d, w)
	l.Inbox, l.Open = inbox, words.Open

	email := submitted.Contact.Email
	l.Reply = words.Reply
	if !mail.ASCII(email) {
		l.Reply = words.NoReply // Not every mail server supports such a Reply-To.
	}
	l.Contact = facts([]fact{
		{words.Name, name, ""},
		{words.Company, lead.OneLine(submitted.Contact.Company), ""},
		{words.Email, lead.OneLine(email), "mailto:" + url.PathEscape(email)},
		{words.Phone, lead.OneLine(submitted.Contact.Phone), lead.TelephoneLink(submitted.Contact.Phone)},
		{words.Language, cmp.Or(w.Mail.Languages[submitted.Locale], submitted.Locale), ""},
	})

	choice := func(field, slug string) string {
		return pdf.Label(slug, d.Labels) + l.amount(submitted, field, slug)
	}
	features := make([]string, len(submitted.Selections.Features))
	for i, slug := range submitted.Selections.Features {
		features[i] = choice("features", slug)
	}
	seen := ""
	if sent := submitted.SentEstimate; sent != nil && *sent != submitted.Estimate {
		seen = w.Range(*sent)
	}
	firstFrom := ""
	if submitted.FirstAttribution != submitted.Attribution {
		firstFrom = lead.OneLine(submitted.FirstAttribution.String())
	}
	l.Facts = facts([]fact{
		{words.Seen, seen, ""},
		{w.ProjectType, choice("projectType", submitted.Selections.ProjectType), ""},
		{w.Complexity, choice("complexity", submitted.Selections.Complexity), ""},
		{w.Timeline, choice("timeline", submitted.Selections.Timeline), ""},
		{w.Features, strings.Join(features, ", "), ""},
		{w.Reference, lead.Reference(submitted.ID), ""},
		{words.From, lead.OneLine(submitted.Attribution.String()), ""},
		{words.FirstFrom, firstFrom, ""},
		{words.Received, w.DateOf(d.CreatedAt) + d.CreatedAt.Format(", 15:04 MST"), ""},
	})
	for _, other := range others {
		l.Facts = append(l.Facts, fact{words.SameVisit, other.Name, other.Link})
	}
	return l.message("sales")
}

// consentFacts returns the visitor's answer and the wording for each purpose.
func consentFacts(d *pdf.Document, w *pdf.Words) []fact {
	words, facts := &w.Mail.Sales, make([]fact, len(d.Lead.Consents))
	for i, c := range d.Lead.Consents {
		answer := words.Given
		switch {
		case c.WithdrawnAt != nil:
			answer = fmt.Sprintf(words.Withdrawn, w.DateOf(c.WithdrawnAt.In(d.CreatedAt.Location())))
		case !c.Given:
			answer = words.NotGiven
		case !c.SiteWording:
			answer += ", " + words.OtherWording
		}

		if wording := lead.OneLine(c.Text); wording != "" {
			answer += " · " + wording
		}
		facts[i] = fact{Label: pdf.Label(c.Purpose, d.Labels), Value: answer}
	}
	return facts
}

// lines applies [lead.OneLine] to each line of a typed text.
func lines(typed string) string {
	list := strings.Split(typed, "\n")
	for i, line := range list {
		list[i] = lead.OneLine(line)
	}
	return strings.Join(list, "\n")
}
