package leads

import (
	"cmp"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// columns are the names of an export's columns. Programs read them by name and by place:
// new ones come last.
var columns = []string{
	"submitted_at", "lead_id", "reference",
	"first_name", "last_name", "email",
	"phone", "company", "locale",
	"project_type", "features",
	"complexity", "timeline",
	"estimate_min", "estimate_max", "currency",
	"session_id", "pdf", "state", "signals", "price_status", "message",
	"source", "medium", "campaign", "term", "content", "referrer", "landing_page",
	"first_source", "first_medium", "first_campaign", "first_term", "first_content",
	"first_referrer", "first_landing_page", "consents",
	"outcome", "won_amount", "won_currency", "outcome_at", "outcome_by",
	"owner", "status", "notes", "consent_texts",
	"record", "first_seen", "last_seen", "visits",
	"sent_estimate_min", "sent_estimate_max", "sent_currency",
	"price_revision", "price_lines", "unpriced", "valid_until", "price_differs",
}

// Kinds of records in an export.
const (
	RecordLead    = "lead"
	RecordConsent = "consent" // one that has outlived its lead
	RecordSession = "session" // a visitor's calculator, as it was last tracked
)

// exportTime is the form of times in an export.
const exportTime = "2006-01-02T15:04:05.000Z"

// CSV returns leads as a table. With a heading the names of the columns come first.
func CSV(leads []lead.Lead, heading bool) string {
	rows := make([][]string, len(leads))
	for i, l := range leads {
		rows[i] = cells(l)
	}
	if !heading {
		return table(rows)
	}
	// Excel reads letters such as ș only if the file begins with a byte order mark.
	return "\ufeff" + table([][]string{columns}) + table(rows)
}

// table writes rows as RFC 4180 describes: with commas, CRLF and UTF-8.
func table(rows [][]string) string {
	var text strings.Builder
	out := csv.NewWriter(&text)
	out.UseCRLF = true

	for _, row := range rows {
		written := make([]string, len(row))
		for i, cell := range row {
			written[i] = Inert(cell)
		}
		_ = out.Write(written) // a Builder takes everything
	}
	out.Flush()
	return text.String()
}

// cells returns the cells of a lead in the order of the columns.
func cells(l lead.Lead) []string {
	signals := make([]string, len(l.Signals))
	for i, s := range l.Signals {
		signals[i] = string(s)
	}

	own := []string{
		l.SubmittedAt.UTC().Format(exportTime), l.ID, lead.Reference(l.ID),
		l.Contact.FirstName, l.Contact.LastName, l.Contact.Email,
		dialled(l.Contact.Phone), l.Contact.Company, l.Locale,
		l.Selections.ProjectType, strings.Join(l.Selections.Features, ";"),
		l.Selections.Complexity, l.Selections.Timeline,
		amount(l.Estimate.Min), amount(l.Estimate.Max), l.Estimate.Currency,
		l.SessionID, l.PDFPath(), word(l.State()), strings.Join(signals, ";"), string(l.PriceStatus),
		l.Message,
	}
	return slices.Concat(own, l.Attribution.Values(), l.FirstAttribution.Values(),
		[]string{l.ConsentText()}, outcomeCells(l.Outcome),
		[]string{l.Owner, word(l.Status), noteText(l.Notes), wordings(l.Consents)},
		[]string{RecordLead, "", "", ""}, sentCells(l.SentEstimate), priceCells(l.Price))
}

// sentCells returns the cells of the range that the client sent, empty if it was not kept.
func sentCells(sent *lead.Estimate) []string {
	if sent == nil {
		return make([]string, 3)
	}
	return []string{amount(sent.Min), amount(sent.Max), sent.Currency}
}

// priceCells returns the cells of what the service computed, empty if it computed nothing.
func priceCells(p *lead.Price) []string {
	if p == nil {
		return make([]string, 5)
	}

	lines := make([]string, len(p.Lines))
	for i, line := range p.Lines {
		lines[i] = strings.TrimSpace(line.Field+" "+line.Slug) + ": " + amount(line.Amount)
	}
	return []string{
		p.Revision, strings.Join(lines, ";"), strings.Join(p.Unpriced, ";"), p.ValidUntil,
		strconv.FormatBool(p.Differs),
	}
}

// outcomeCells returns the cells of what became of a lead, empty if that is not known.
func outcomeCells(o lead.Outcome) []string {
	if o.Value == "" {
		return make([]string, 5)
	}

	won := ""
	if o.Amount != nil {
		won = amount(*o.Amount)
	}
	return []string{word(o.Value), won, o.Currency, o.At.UTC().Format(exportTime), cmp.Or(o.By, "crm")}
}

// wordings returns what was agreed to as paragraphs, each with its purpose.
func wordings(consents []lead.Consent) string {
	var texts []string
	for _, c := range consents {
		if c.Text != "" {
			texts = append(texts, c.Purpose+": "+c.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// noteText returns notes as paragraphs, each of which says who wrote it and when.
func noteText(notes []lead.Note) string {
	texts := make([]string, len(notes))
	for i, n := range notes {
		texts[i] = n.At.UTC().Format(time.DateTime) + " " + n.Author + ": " + n.Text
	}
	return strings.Join(texts, "\n\n")
}

// dialled returns a telephone number with the international prefix as digits. A cell that
// begins with + is a formula to spreadsheets, and the ' that would prevent it is part of
// the number to the programs that import it.
func dialled(phone string) string {
	if number, ok := strings.CutPrefix(phone, "+"); ok {
		return "00" + strings.TrimSpace(number)
	}
	return phone
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// word returns a state, an outcome or a status as the commands write it: in-review.
func word[T ~string](value T) string {
	return strings.ReplaceAll(strings.ToLower(string(value)), "_", "-")
}

// formula finds text that a spreadsheet could take for the beginning of a formula: at the
// beginning of a cell, and after a character that separates cells where the separator is
// not the comma. East Asian versions accept the wide forms of the signs as well.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// Inert writes ' before each beginning of a formula.
func Inert(cell string) string { return formula.ReplaceAllString(cell, "$1$2'$3") }
