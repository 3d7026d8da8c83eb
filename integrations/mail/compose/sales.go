package compose

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
)

// Sales returns the mail that tells sales of a lead. Inbox is the address of the lead in the
// inbox; empty: the mail has the reference only.
func Sales(d *pdf.Document, inbox string) (mail.Message, error) {
	w, err := pdf.WordsIn(d.Locale)
	if err != nil {
		return mail.Message{}, err
	}
	submitted, words := &d.Lead, w.Mail.Sales
	name := shown(submitted.Contact.FirstName + " " + submitted.Contact.LastName)
	project := pdf.Label(submitted.Selections.ProjectType, d.Labels)
	l := &letter{
		locale:  d.Locale,
		subject: fmt.Sprintf(words.Subject, name) + " · " + project,
		company: pdf.Company{Name: d.Company.Name, Logo: d.Company.Logo, Accent: d.Company.Accent},
	}

	l.title(words.Title)
	l.figure(w.Estimate, w.Range(submitted.Estimate, everyLetter), w.Guidance(submitted))
	l.heading(words.Contact)
	l.facts(
		fact{label: words.Name, value: name},
		fact{label: words.Company, value: shown(submitted.Contact.Company)},
		fact{words.Email, shown(submitted.Contact.Email), "mailto:" + url.PathEscape(submitted.Contact.Email)},
		fact{label: words.Phone, value: shown(submitted.Contact.Phone)},
		fact{label: words.Language, value: cmp.Or(w.Mail.Languages[submitted.Locale], submitted.Locale)},
	)

	if typed := lines(submitted.Message); typed != "" {
		l.heading(words.Message)
		l.paragraph(typed)
	}

	l.heading(words.Project)
	features := make([]string, len(submitted.Selections.Features))
	for i, slug := range submitted.Selections.Features {
		features[i] = pdf.Label(slug, d.Labels)
	}
	seen := ""
	if sent := submitted.SentEstimate; sent != nil && *sent != submitted.Estimate {
		seen = w.Range(*sent, everyLetter)
	}
	firstFrom := ""
	if submitted.FirstAttribution != submitted.Attribution {
		firstFrom = shown(submitted.FirstAttribution.String())
	}
	l.facts(
		fact{label: words.Seen, value: seen},
		fact{label: w.ProjectType, value: project},
		fact{label: w.Complexity, value: pdf.Label(submitted.Selections.Complexity, d.Labels)},
		fact{label: w.Timeline, value: pdf.Label(submitted.Selections.Timeline, d.Labels)},
		fact{label: w.Features, value: strings.Join(features, ", ")},
		fact{label: w.Reference, value: lead.Reference(submitted.ID)},
		fact{label: words.From, value: shown(submitted.Attribution.String())},
		fact{label: words.FirstFrom, value: firstFrom},
		fact{label: words.Received, value: w.DateOf(d.CreatedAt) + d.CreatedAt.UTC().Format(", 15:04 UTC")},
	)
	if len(submitted.Consents) > 0 {
		l.heading(words.Consents)
		l.facts(consentFacts(w, submitted.Consents)...)
	}
	if inbox != "" {
		l.button(words.Open, inbox)
	}
	l.small(words.Reply)
	return l.message(), nil
}

// consentFacts returns for each purpose the visitor's answer and the wording.
func consentFacts(w *pdf.Words, consents []lead.Consent) []fact {
	words, facts := &w.Mail.Sales, make([]fact, len(consents))
	for i, c := range consents {
		answer := words.Given
		switch {
		case c.WithdrawnAt != nil:
			answer = fmt.Sprintf(words.Withdrawn, w.DateOf(*c.WithdrawnAt))
		case !c.Given:
			answer = words.NotGiven
		case !c.SiteWording:
			answer += ", " + words.OtherWording
		}

		if wording := shown(c.Text); wording != "" {
			answer += " · " + wording
		}
		facts[i] = fact{label: c.Purpose, value: answer}
	}
	return facts
}

// lines returns what a visitor typed on several lines, each as shown returns it.
func lines(typed string) string {
	list := strings.Split(typed, "\n")
	for i, line := range list {
		list[i] = shown(line)
	}
	return strings.Join(list, "\n")
}

// shown returns what a visitor typed on one line, without control and direction characters.
func shown(typed string) string {
	return strings.Join(strings.FieldsFunc(typed, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	}), " ")
}
