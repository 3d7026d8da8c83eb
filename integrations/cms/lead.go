package cms

import (
	"errors"
	"slices"
	"strings"

	"siteapi/integrations/lead"
)

// LeadType is the document type of stored leads.
const LeadType = "quoteSubmission"

// LeadDocumentID returns the document id of a stored lead. Its dot keeps the document
// private in a public dataset.
func LeadDocumentID(id string) string { return LeadType + "." + id }

// LeadDocument is the CMS document of a lead, identical in every driver. It is never part
// of a locale's content, and its id contains no personal data.
type LeadDocument struct {
	ID          string           `json:"_id"`
	Type        string           `json:"_type"`
	LeadID      string           `json:"submissionId"`
	SessionID   string           `json:"sessionId"`
	Contact     lead.Contact     `json:"contact"`
	Selections  Selections       `json:"selections"`
	Estimate    lead.Estimate    `json:"estimate"`
	PriceStatus lead.PriceStatus `json:"priceStatus,omitempty"`
	Message     string           `json:"message,omitempty"`
	Attribution lead.Attribution `json:"attribution,omitzero"`
	FirstTouch  lead.Attribution `json:"firstAttribution,omitzero"`
	Consents    []Consent        `json:"consents,omitempty"`
	Locale      string           `json:"locale,omitempty"`
	SubmittedAt string           `json:"submittedAt"` // RFC 3339 in UTC with milliseconds
	PDFPath     string           `json:"pdfPath"`     // relative to the site
	PagePath    string           `json:"pagePath"`    // relative to the site
}

// Selections are the choices in a lead's document.
type Selections struct {
	lead.Selections
	Quantities []Quantity `json:"quantities,omitempty"`
}

// Quantity is a list item in a lead's document, with the unit in the default language.
type Quantity struct {
	Key   string  `json:"_key"`
	Slug  string  `json:"slug"`
	Count float64 `json:"count"`
	Unit  string  `json:"unit,omitempty"`
}

func newSelections(s lead.Selections) Selections {
	selections := Selections{Selections: s}
	selections.Selections.Quantities = nil
	for _, q := range s.Quantities {
		selections.Quantities = append(selections.Quantities, Quantity{q.Slug, q.Slug, q.Count, q.Unit()})
	}
	return selections
}

// Consent is a list item in a lead's document. Sanity Studio requires a key for each
// item.
type Consent struct {
	Key string `json:"_key"`
	lead.Consent
}

func newConsents(consents []lead.Consent) (list []Consent) {
	for _, c := range consents {
		list = append(list, Consent{c.Purpose, c})
	}
	return list
}

// Withdrawn reports whether a consent of the lead was withdrawn. The stored document must
// then be updated.
func (d LeadDocument) Withdrawn() bool {
	return slices.ContainsFunc(d.Consents, func(c Consent) bool { return c.WithdrawnAt != nil })
}

// NewLeadDocument converts a lead to its CMS document.
func NewLeadDocument(s *lead.Lead) LeadDocument {
	return LeadDocument{
		ID:          LeadDocumentID(s.ID),
		Type:        LeadType,
		LeadID:      s.ID,
		SessionID:   s.SessionID,
		Locale:      s.Locale,
		SubmittedAt: s.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		PDFPath:     s.PDFPath(),
		PagePath:    s.PagePath(),

		Contact:     s.Contact,
		Selections:  newSelections(s.Selections),
		Estimate:    s.Estimate,
		PriceStatus: s.PriceStatus,
		Message:     s.Message,
		Attribution: s.Attribution,
		FirstTouch:  s.FirstAttribution,
		Consents:    newConsents(s.Consents),
	}
}

// CheckLeadID rejects an id that the CMS would not accept in a document id, or that could
// escape a folder of documents.
func CheckLeadID(id string) error {
	if id == "" || strings.HasPrefix(id, ".") || strings.Contains(id, "..") ||
		!validID.MatchString(LeadDocumentID(id)) {
		return errors.New("invalid lead id")
	}
	return nil
}
