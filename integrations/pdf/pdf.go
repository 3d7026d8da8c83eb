// Package pdf draws the summary of a submitted quote as an A4 document.
//
// Line and page breaks are computed here, because maroto breaks lines only between words.
// maroto receives pages that are already laid out.
//
// Known limits: letters that Liberation Sans lacks, or that need shaping (Arabic, CJK,
// Hebrew), are replaced by a box and logged; the document is not tagged for screen
// readers.
package pdf

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"siteapi/integrations/lead"
)

// Company is the sender of the document. Empty fields are left out.
type Company struct {
	Name   string
	Logo   []byte // image from PrepareLogo; nil: the name is printed large instead
	Lines  []Line // address and contact lines, in the order they are printed
	Accent string // "#rrggbb"; blue if empty or malformed
}

// AccentColor returns the company's color in the form "#rrggbb", or blue if it has none.
func (c Company) AccentColor() string {
	if _, ok := parseColor(c.Accent); ok {
		return c.Accent
	}
	return "#1f4fd8"
}

// Line is a line of text, optionally with a link.
type Line struct {
	Text string
	Link string // mailto:, tel: or https: address; empty: no link
}

// Document is the content of a PDF. The same document always yields the same bytes.
type Document struct {
	Lead      lead.Lead
	Locale    string // en, es or ro; any other is printed in English
	Company   Company
	Labels    map[string]string // texts for slugs in the locale; a slug without one is spelled out
	CreatedAt time.Time         // date of the lead, in the time zone to print
	Texts     map[string]string // the firm's texts by name, see SetTexts
}

// Label returns the content's text for a slug, or else the slug spelled out: "web-app"
// becomes "Web app".
func Label(slug string, labels map[string]string) string {
	if text := strings.TrimSpace(labels[slug]); text != "" {
		return short(text)
	}

	text := strings.NewReplacer("-", " ", "_", " ").Replace(slug)
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
