package leads

import (
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// columns are the names of an export's columns. Programs read them by name and by place:
// new ones come last.
var columns = []string{
	"submitted_at", "submission_id", "reference",
	"first_name", "last_name", "email",
	"phone", "company", "locale",
	"project_type", "features",
	"complexity", "timeline",
	"estimate_min", "estimate_max", "currency",
	"session_id", "pdf", "state", "signals", "price_status", "message",
	"source", "medium", "campaign", "term", "content", "referrer", "landing_page",
	"first_source", "first_medium", "first_campaign", "first_term", "first_content",
	"first_referrer", "first_landing_page", "consents",
}

// CSV returns a function that writes leads as RFC 4180 describes: with commas, CRLF and
// UTF-8. With a heading the names of the columns come first. The writer w has to keep its
// errors.
func CSV(w io.Writer, heading bool) func(*schema.Lead) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true

	row := func(cells ...string) error {
		for i, cell := range cells {
			cells[i] = inert(cell)
		}

		_ = out.Write(cells)
		out.Flush()
		return out.Error()
	}

	if heading {
		// Excel reads letters such as ș only if the file begins with a byte order mark.
		_, _ = io.WriteString(w, "\ufeff")
		_ = row(columns...)
	}

	return func(l *schema.Lead) error {
		signals := make([]string, len(l.Signals))
		for i, s := range l.Signals {
			signals[i] = string(s)
		}

		cells := []string{
			l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z"), l.ID, l.Reference,
			l.Contact.FirstName, l.Contact.LastName, l.Contact.Email,
			dialled(l.Contact.Phone), text(l.Contact.Company), text(l.Locale),
			l.Selections.ProjectType, strings.Join(l.Selections.Features, ";"),
			text(l.Selections.Complexity), text(l.Selections.Timeline),
			amount(l.Estimate.Min), amount(l.Estimate.Max), l.Estimate.Currency,
			text(l.SessionID), text(l.PDFURL), word(l.State), strings.Join(signals, ";"), text(l.PriceStatus),
			text(l.Message),
		}
		return row(slices.Concat(cells, touchCells(l.Attribution), touchCells(l.FirstAttribution),
			[]string{consentCell(l.Consents)})...)
	}
}

// consentCell returns the answers to what the visitor was asked.
func consentCell(consents []*schema.LeadConsent) string {
	answers := make([]lead.Consent, len(consents))
	for i, c := range consents {
		answers[i] = lead.Consent{
			Purpose:     c.Purpose,
			Given:       c.Given,
			SiteWording: c.SiteWording,
			WithdrawnAt: c.WithdrawnAt,
		}
	}
	return lead.ConsentText(answers)
}

// touchCells returns the cells of where a visitor came from.
func touchCells(a *schema.LeadAttribution) []string {
	if a == nil {
		a = &schema.LeadAttribution{}
	}
	return []string{
		text(a.Source), text(a.Medium), text(a.Campaign), text(a.Term),
		text(a.Content), text(a.Referrer), text(a.LandingPage),
	}
}

// dialled returns a telephone number with the international prefix as digits. A cell that
// begins with + is a formula to spreadsheets, and the ' that would prevent it is part of
// the number to the programs that import it.
func dialled(phone *string) string {
	if number, ok := strings.CutPrefix(text(phone), "+"); ok {
		return "00" + strings.TrimSpace(number)
	}
	return text(phone)
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func text[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// word returns a value of an enum as the commands write it: in-review.
func word[T ~string](value T) string {
	return strings.ReplaceAll(strings.ToLower(string(value)), "_", "-")
}

// formula finds text that a spreadsheet could take for the beginning of a formula: at the
// beginning of a cell, and after a character that separates cells where the separator is
// not the comma. East Asian versions accept the wide forms of the signs as well.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// inert writes ' before each beginning of a formula.
func inert(cell string) string { return formula.ReplaceAllString(cell, "$1$2'$3") }
