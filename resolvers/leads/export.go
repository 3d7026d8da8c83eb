package leads

import (
	"cmp"
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
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

// row has the cells of a record by column. The other cells are empty.
type row map[string]string

// exportTime returns a time with the offset of the time zone.
func (r *Resolver) exportTime(at time.Time) string {
	return at.In(r.TimeZone).Format("2006-01-02T15:04:05.000Z07:00")
}

// exportLeads returns leads as a table, with a header row if heading is true.
func (r *Resolver) exportLeads(leads []lead.Lead, heading bool) string {
	rows := make([]row, len(leads))
	for i, l := range leads {
		rows[i] = r.leadRow(l)
	}
	if !heading {
		return table(rows)
	}

	names := row{}
	for _, name := range columns {
		names[name] = name
	}
	// Excel decodes letters such as ș correctly only if the file begins with a byte order
	// mark.
	return "\ufeff" + table([]row{names}) + table(rows)
}

// table encodes rows by RFC 4180, with commas, CRLF and UTF-8.
func table(rows []row) string {
	var text strings.Builder
	out := csv.NewWriter(&text)
	out.UseCRLF = true

	for _, cells := range rows {
		written := make([]string, len(columns))
		for i, name := range columns {
			written[i] = Inert(cells[name])
		}
		_ = out.Write(written) // a strings.Builder returns no error
	}
	out.Flush()
	return text.String()
}

// leadRow returns the row of a lead.
func (r *Resolver) leadRow(l lead.Lead) row {
	signals := make([]string, len(l.Signals))
	for i, s := range l.Signals {
		signals[i] = string(s)
	}

	cells := row{
		"record":        recordLead,
		"submitted_at":  r.exportTime(l.SubmittedAt),
		"lead_id":       l.ID,
		"reference":     lead.Reference(l.ID),
		"first_name":    l.Contact.FirstName,
		"last_name":     l.Contact.LastName,
		"email":         l.Contact.Email,
		"phone":         dialed(l.Contact.Phone),
		"company":       l.Contact.Company,
		"locale":        l.Locale,
		"estimate_min":  amount(l.Estimate.Min),
		"estimate_max":  amount(l.Estimate.Max),
		"currency":      l.Estimate.Currency,
		"session_id":    l.SessionID,
		"pdf":           l.PDFPath(),
		"state":         word(l.State()),
		"signals":       strings.Join(signals, ";"),
		"price_status":  string(l.PriceStatus),
		"message":       l.Message,
		"consents":      l.ConsentText(),
		"consent_texts": wordings(l.Consents),
		"owner":         l.Owner,
		"status":        word(l.Status),
		"notes":         r.noteText(l.Notes),
		"deliveries":    deliveryText(l.Deliveries),
	}
	cells.setOrigin(l.Selections, l.Attribution, l.FirstAttribution)

	if o := l.Outcome; o.Value != "" {
		cells["outcome"], cells["outcome_by"] = word(o.Value), cmp.Or(o.By, "crm")
		cells["outcome_at"] = r.exportTime(o.At)
		cells["won_amount"], cells["won_currency"] = optional(o.Amount), o.Currency
	}
	if sent := l.SentEstimate; sent != nil {
		cells["sent_estimate_min"], cells["sent_estimate_max"] = amount(sent.Min), amount(sent.Max)
		cells["sent_currency"] = sent.Currency
	}
	if l.Price != nil {
		cells.setPrice(l.Price)
	}
	return cells
}

// setOrigin sets the choices of a visitor, and where the visitor came from.
func (r row) setOrigin(s lead.Selections, last, first lead.Attribution) {
	r["project_type"], r["features"] = s.ProjectType, strings.Join(s.Features, ";")
	r["complexity"], r["timeline"] = s.Complexity, s.Timeline

	parts := []string{"source", "medium", "campaign", "term", "content", "referrer", "landing_page"}
	for i, part := range parts {
		r[part], r["first_"+part] = last.Values()[i], first.Values()[i]
	}
}

// setPrice sets the computed price.
func (r row) setPrice(p *lead.Price) {
	lines := make([]string, len(p.Lines))
	for i, line := range p.Lines {
		lines[i] = strings.TrimSpace(line.Field+" "+line.Slug) + ": " + amount(line.Amount)
	}
	r["price_lines"], r["unpriced"] = strings.Join(lines, ";"), strings.Join(p.Unpriced, ";")
	r["price_revision"], r["valid_until"] = p.Revision, p.ValidUntil
	r["price_differs"] = strconv.FormatBool(p.Differs)
}

// exportPerson returns the data as rows of an export of leads, without a header row.
func (r *Resolver) exportPerson(p personData) string {
	var rows []row
	for _, c := range p.consents {
		rows = append(rows, row{
			"record":        recordConsent,
			"submitted_at":  r.exportTime(c.At),
			"email":         p.email,
			"locale":        c.Locale,
			"consents":      lead.ConsentText([]lead.Consent{c.Consent}),
			"consent_texts": wordings([]lead.Consent{c.Consent}),
		})
	}
	for _, s := range p.sessions {
		rows = append(rows, r.sessionRow(s))
	}
	return table(rows)
}

// sessionRow returns the row of a session.
func (r *Resolver) sessionRow(s lead.Session) row {
	cells := row{
		"record":       recordSession,
		"session_id":   s.ID,
		"first_name":   s.Hints.FirstName,
		"email":        s.Hints.Email,
		"locale":       s.Locale,
		"estimate_min": optional(s.Estimate.Min),
		"estimate_max": optional(s.Estimate.Max),
		"currency":     s.Estimate.Currency,
		"first_seen":   r.exportTime(s.FirstSeen),
		"last_seen":    r.exportTime(s.LastSeen),
		"visits":       strconv.FormatInt(s.Visits, 10),
	}
	cells.setOrigin(s.Selections, s.LastTouch, s.FirstTouch)

	if s.Hints.Agreed {
		cells["consents"] = lead.SaveProgress + ": given"
		cells["consent_texts"] = wordings([]lead.Consent{{Purpose: lead.SaveProgress, Text: s.Hints.Consent}})
	}
	return cells
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
func (r *Resolver) noteText(notes []lead.Note) string {
	texts := make([]string, len(notes))
	for i, n := range notes {
		texts[i] = r.exportTime(n.At) + " " + n.Author + ": " + n.Text
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
