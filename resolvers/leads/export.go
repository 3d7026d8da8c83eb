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
	"siteapi/integrations/store"
)

// columns has the names of an export's columns. Programs read columns by name or by
// position, so new ones are appended.
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
	"price_revision", "price_lines", "unpriced", "valid_until", "price_differs", "deliveries",
}

// Kinds of records in an export.
const (
	recordLead    = "lead"
	recordConsent = "consent" // a consent that outlived its lead
	recordSession = "session" // the last tracked state of a visitor's calculator
)

// exporter writes exports, with times of a zone.
type exporter struct{ zone *time.Location }

// time returns a time with its offset.
func (e exporter) time(at time.Time) string {
	return at.In(e.zone).Format("2006-01-02T15:04:05.000Z07:00")
}

// leads returns leads as a table, with a header row if heading is true.
func (e exporter) leads(leads []lead.Lead, heading bool) string {
	rows := make([][]string, len(leads))
	for i, l := range leads {
		rows[i] = e.cells(l)
	}
	if !heading {
		return table(rows)
	}
	// Excel decodes letters such as ș correctly only if the file begins with a byte order
	// mark.
	return "\ufeff" + table([][]string{columns}) + table(rows)
}

// table encodes rows by RFC 4180, with commas, CRLF and UTF-8.
func table(rows [][]string) string {
	var text strings.Builder
	out := csv.NewWriter(&text)
	out.UseCRLF = true

	for _, row := range rows {
		written := make([]string, len(row))
		for i, cell := range row {
			written[i] = Inert(cell)
		}
		_ = out.Write(written) // a strings.Builder returns no error
	}
	out.Flush()
	return text.String()
}

// cells returns the cells of a lead in the order of the columns.
func (e exporter) cells(l lead.Lead) []string {
	signals := make([]string, len(l.Signals))
	for i, s := range l.Signals {
		signals[i] = string(s)
	}

	own := []string{
		e.time(l.SubmittedAt), l.ID, lead.Reference(l.ID),
		l.Contact.FirstName, l.Contact.LastName, l.Contact.Email,
		dialed(l.Contact.Phone), l.Contact.Company, l.Locale,
		l.Selections.ProjectType, strings.Join(l.Selections.Features, ";"),
		l.Selections.Complexity, l.Selections.Timeline,
		amount(l.Estimate.Min), amount(l.Estimate.Max), l.Estimate.Currency,
		l.SessionID, l.PDFPath(), word(l.State()), strings.Join(signals, ";"), string(l.PriceStatus),
		l.Message,
	}
	return slices.Concat(own, l.Attribution.Values(), l.FirstAttribution.Values(),
		[]string{l.ConsentText()}, e.outcomeCells(l.Outcome),
		[]string{l.Owner, word(l.Status), e.noteText(l.Notes), wordings(l.Consents)},
		[]string{recordLead, "", "", ""}, sentCells(l.SentEstimate), priceCells(l.Price),
		[]string{deliveryText(l.Deliveries)})
}

// sentCells returns the cells of the range that the client sent, empty if it was not
// stored.
func sentCells(sent *lead.Estimate) []string {
	if sent == nil {
		return make([]string, 3)
	}
	return []string{amount(sent.Min), amount(sent.Max), sent.Currency}
}

// priceCells returns the cells of the computed price, empty without one.
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

// outcomeCells returns the cells of a lead's outcome, empty if it is unknown.
func (e exporter) outcomeCells(o lead.Outcome) []string {
	if o.Value == "" {
		return make([]string, 5)
	}

	won := ""
	if o.Amount != nil {
		won = amount(*o.Amount)
	}
	return []string{word(o.Value), won, o.Currency, e.time(o.At), cmp.Or(o.By, "crm")}
}

// person returns the data as rows of an export of leads, without a header row.
func (e exporter) person(p personData) string {
	var rows [][]string
	for _, c := range p.consents {
		rows = append(rows, e.consentCells(p.email, c))
	}
	for _, s := range p.sessions {
		rows = append(rows, e.sessionCells(s))
	}
	return table(rows)
}

// consentCells returns the cells of a consent that outlived its lead, in the columns of a
// lead.
func (e exporter) consentCells(email string, c store.KeptConsent) []string {
	like := lead.Lead{
		SubmittedAt: c.At,
		Contact:     lead.Contact{Email: email},
		Locale:      c.Locale,
		Consents:    []lead.Consent{c.Consent},
	}
	return replaced(e.cells(like), map[string]string{
		"record":       recordConsent,
		"estimate_min": "",
		"estimate_max": "",
		"pdf":          "",
		"state":        "",
	})
}

// sessionCells returns the cells of a session, in the columns of a lead.
func (e exporter) sessionCells(s lead.Session) []string {
	like := lead.Lead{
		SessionID:        s.ID,
		Contact:          lead.Contact{FirstName: s.Hints.FirstName, Email: s.Hints.Email},
		Locale:           s.Locale,
		Selections:       s.Selections,
		Estimate:         lead.Estimate{Currency: s.Estimate.Currency},
		Attribution:      s.LastTouch,
		FirstAttribution: s.FirstTouch,
	}

	own := map[string]string{
		"record":       recordSession,
		"submitted_at": "",
		"estimate_min": optional(s.Estimate.Min),
		"estimate_max": optional(s.Estimate.Max),
		"pdf":          "",
		"state":        "",
		"first_seen":   e.time(s.FirstSeen),
		"last_seen":    e.time(s.LastSeen),
		"visits":       strconv.FormatInt(s.Visits, 10),
	}
	if s.Hints.Agreed {
		own["consents"] = lead.SaveProgress + ": given"
	}
	if s.Hints.Consent != "" {
		own["consent_texts"] = lead.SaveProgress + ": " + s.Hints.Consent
	}
	return replaced(e.cells(like), own)
}

// replaced sets cells of a row by column name.
func replaced(row []string, cells map[string]string) []string {
	for i, name := range columns {
		if cell, ok := cells[name]; ok {
			row[i] = cell
		}
	}
	return row
}

// wordings returns the texts of consents as paragraphs, each with its purpose.
func wordings(consents []lead.Consent) string {
	var texts []string
	for _, c := range consents {
		if c.Text != "" {
			texts = append(texts, c.Purpose+": "+c.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// deliveryText returns what deliveries have in words, as paragraphs: a corrected address, and
// why they were not sent or were dismissed.
func deliveryText(list []lead.Delivery) string {
	var texts []string
	for _, d := range list {
		if text := strings.TrimSpace(d.Recipient + " " + d.Reason); text != "" {
			texts = append(texts, word(d.Target)+": "+text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// noteText returns notes as paragraphs, each with its time and author.
func (e exporter) noteText(notes []lead.Note) string {
	texts := make([]string, len(notes))
	for i, n := range notes {
		texts[i] = e.time(n.At) + " " + n.Author + ": " + n.Text
	}
	return strings.Join(texts, "\n\n")
}

// dialed returns a telephone number with 00 instead of a leading +. Spreadsheets read a
// cell that begins with + as a formula, and programs that import the file would read a
// protective ' as part of the number.
func dialed(phone string) string {
	if number, ok := strings.CutPrefix(phone, "+"); ok {
		return "00" + strings.TrimSpace(number)
	}
	return phone
}

func optional(f *float64) string {
	if f == nil {
		return ""
	}
	return amount(*f)
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// word returns a state, an outcome or a status as commands spell it, such as in-review.
func word[T ~string](value T) string {
	return strings.ReplaceAll(strings.ToLower(string(value)), "_", "-")
}

// formula matches text that a spreadsheet may read as the beginning of a formula: at the
// beginning of a cell, and after a character that may separate cells instead of the
// comma. East Asian versions also accept the full-width forms of the signs.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// Inert inserts ' before each possible beginning of a formula.
func Inert(cell string) string { return formula.ReplaceAllString(cell, "$1$2'$3") }
