// Package pdf draws the summary of a submitted quote as an A4 document.
package pdf

import (
	"time"

	"siteapi/integrations/quote"
)

// Company is what the document says of the sender. Empty fields are left out.
type Company struct {
	Name   string
	Logo   []byte   // PNG, JPEG or SVG; nil: none
	Lines  []string // address and contact lines, in the order they are printed
	Accent string   // "#rrggbb"; empty: the default
}

// Document is everything that is printed. The same document gives the same bytes.
type Document struct {
	Submission quote.Submission
	Locale     string            // en, es or ro
	Company    Company           //
	Labels     map[string]string // words for slugs in the locale; a slug without one is spelled out
	CreatedAt  time.Time         // the submission's date
}
