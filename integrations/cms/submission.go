package cms

import (
	"errors"
	"strings"
	"time"

	"siteapi/integrations/quote"
)

// StoredSubmission is a submitted quote as a document of the CMS, the same in every
// driver. It has no language, so that no locale's content holds it, and its id says
// nothing of the person.
type StoredSubmission struct {
	ID           string           `json:"_id"`
	Type         string           `json:"_type"`
	SubmissionID string           `json:"submissionId"`
	SessionID    string           `json:"sessionId"`
	Contact      quote.Contact    `json:"contact"`
	Selections   quote.Selections `json:"selections"`
	Estimate     quote.Estimate   `json:"estimate"`
	Locale       string           `json:"locale,omitempty"`
	SubmittedAt  string           `json:"submittedAt"` // RFC 3339, UTC, milliseconds
	PDFPath      string           `json:"pdfPath"`     // relative to the site
}

// CheckSubmissionID refuses an id that the CMS would not take in a document's id, or
// that means more than a name where documents are files.
func CheckSubmissionID(id string) error {
	if id == "" || strings.HasPrefix(id, ".") || strings.Contains(id, "..") || !ValidID(SubmissionID(id)) {
		return errors.New("the id is not one of a submission")
	}
	return nil
}

// Stored returns a submission's document.
func Stored(s *quote.Submission) StoredSubmission {
	return StoredSubmission{
		ID:           SubmissionID(s.ID),
		Type:         SubmissionType,
		SubmissionID: s.ID,
		SessionID:    s.SessionID,
		Contact:      s.Contact,
		Selections:   s.Selections,
		Estimate:     s.Estimate,
		Locale:       s.Locale,
		SubmittedAt:  s.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		PDFPath:      s.PDFPath(),
	}
}

// Submission returns what was submitted.
func (d StoredSubmission) Submission() (*quote.Submission, error) {
	at, err := time.Parse(time.RFC3339, d.SubmittedAt)
	if err != nil {
		return nil, err
	}
	return &quote.Submission{
		ID: d.SubmissionID, SessionID: d.SessionID, Contact: d.Contact, Selections: d.Selections,
		Estimate: d.Estimate, Locale: d.Locale, SubmittedAt: at.UTC(),
	}, nil
}
