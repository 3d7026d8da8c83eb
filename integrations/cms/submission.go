package cms

import (
	"errors"
	"strings"

	"siteapi/integrations/lead"
)

// SubmissionType is the document type that submitted quotes are stored as.
const SubmissionType = "quoteSubmission"

// SubmissionID is the document id of a stored submission. An id with a dot stays private
// on a public dataset.
func SubmissionID(id string) string { return SubmissionType + "." + id }

// StoredSubmission is a submitted quote as a document of the CMS, the same in every
// driver. It has no language, so no locale's content includes it, and its id
// contains no personal data.
type StoredSubmission struct {
	ID           string           `json:"_id"`
	Type         string           `json:"_type"`
	SubmissionID string           `json:"submissionId"`
	SessionID    string           `json:"sessionId"`
	Contact      lead.Contact     `json:"contact"`
	Selections   lead.Selections  `json:"selections"`
	Estimate     lead.Estimate    `json:"estimate"`
	PriceStatus  lead.PriceStatus `json:"priceStatus,omitempty"`
	Locale       string           `json:"locale,omitempty"`
	SubmittedAt  string           `json:"submittedAt"` // RFC 3339 in UTC with milliseconds
	PDFPath      string           `json:"pdfPath"`     // relative to the site
}

// Stored returns a submission's document.
func Stored(s *lead.Lead) StoredSubmission {
	return StoredSubmission{
		ID:           SubmissionID(s.ID),
		Type:         SubmissionType,
		SubmissionID: s.ID,
		SessionID:    s.SessionID,
		Contact:      s.Contact,
		Selections:   s.Selections,
		Estimate:     s.Estimate,
		PriceStatus:  s.PriceStatus,
		Locale:       s.Locale,
		SubmittedAt:  s.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		PDFPath:      s.PDFPath(),
	}
}

// CheckSubmissionID rejects an id that the CMS would not accept in a document's id, or
// that could lead out of a folder of documents.
func CheckSubmissionID(id string) error {
	if id == "" || strings.HasPrefix(id, ".") || strings.Contains(id, "..") ||
		!validID.MatchString(SubmissionID(id)) {
		return errors.New("the id is not one of a submission")
	}
	return nil
}
