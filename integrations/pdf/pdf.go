// Package pdf draws the summary of a submitted quote as an A4 document.
//
// The page is built on maroto: a grid of one-millimetre columns, a row for every strip
// that must not be torn. Line breaks, page breaks and what to do with text from
// outside are decided here, because the library wraps between words only and draws
// whatever it is given.
//
// Known limits: letters of scripts that need shaping (Arabic, Devanagari, Chinese) are
// replaced by a mark, since the typeface lacks them; the document is not tagged for
// screen readers, which the library can't do.
package pdf

import (
	"time"

	"siteapi/integrations/quote"
)

// Company is what the document says of the sender. Empty fields are left out.
type Company struct {
	Name   string
	Logo   []byte   // PNG, JPEG or SVG; nil, or one that can't be drawn: none
	Lines  []string // address and contact lines, in the order they are printed
	Accent string   // "#rrggbb"; empty or malformed: the renderer's
}

// Document is everything that is printed. The same document gives the same bytes.
type Document struct {
	Submission quote.Submission
	Locale     string            // en, es or ro
	Company    Company           //
	Labels     map[string]string // words for slugs in the locale; a slug without one is spelled out
	CreatedAt  time.Time         // the submission's date
}
