package pdf

import (
	"strings"
	"unicode/utf8"

	"github.com/johnfercher/maroto/v2/pkg/props"

	"siteapi/integrations/pdf/font"
)

// Names under which the faces are registered.
const (
	regularFamily = "LiberationSans"
	boldFamily    = "LiberationSansBold"
)

// mmPerPt is the length of a typographic point in millimeters.
const mmPerPt = 25.4 / 72

// style is a style of text.
type style struct {
	face    *font.Face
	family  string  // registered name of the face
	size    float64 // points
	leading float64 // distance from line to line, in millimeters
	color   props.Color
}

// typescale holds the styles of a document.
type typescale struct {
	title, figure, name, heading, body, label, small style
}

func newTypescale(family *font.Family, p *palette) *typescale {
	regular := func(size, leading float64, c props.Color) style {
		return style{face: family.Regular, family: regularFamily, size: size, leading: leading, color: c}
	}
	bold := func(size, leading float64) style {
		return style{face: family.Bold, family: boldFamily, size: size, leading: leading, color: p.ink}
	}

	return &typescale{
		title:   bold(26, 11),
		figure:  bold(25, 11),
		name:    bold(11.5, 5.6),
		heading: bold(9.5, 5),
		body:    regular(9.5, 5, p.ink),
		label:   regular(9.5, 5, p.muted),
		small:   regular(8, 4.2, p.muted),
	}
}

// height returns the height of n lines in millimeters.
func (s style) height(n int) float64 { return float64(n) * s.leading }

// width returns the width of text in millimeters.
func (s style) width(text string) float64 {
	return float64(s.face.Width(text)) * s.size * mmPerPt / 1000
}

// fit returns the largest size, in points, at which text is no wider than limit
// millimeters. The result is at most the style's own size, and never less than least,
// even if the text does not fit.
func (s style) fit(text string, least, limit float64) float64 {
	return max(least, s.size*min(1, limit/s.width(text)))
}

// wrap breaks text into lines no wider than limit millimeters. It breaks between words,
// and inside a word only if the word is wider than a line.
func (s style) wrap(text string, limit float64) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if s.width(longer) <= limit {
			line = longer
			continue
		}

		if line != "" {
			lines = append(lines, line)
		}
		pieces := s.split(word, limit)
		lines = append(lines, pieces[:len(pieces)-1]...)
		line = pieces[len(pieces)-1]
	}

	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// cut returns text in one line no wider than limit millimeters, with an ellipsis where it
// was cut.
func (s style) cut(text string, limit float64) string {
	if s.width(text) <= limit {
		return text
	}
	const ellipsis = "…"
	for text != "" && s.width(text+ellipsis) > limit {
		_, size := utf8.DecodeLastRuneInString(text)
		text = strings.TrimRight(text[:len(text)-size], " ,.-")
	}
	return text + ellipsis
}

// split cuts a word into pieces that fit: after a joint such as "-" or "@" in the later
// half of a piece, or else between any two letters.
func (s style) split(word string, limit float64) []string {
	var pieces []string
	for s.width(word) > limit {
		// end is where the line must break, joint the last good break before it.
		end, joint := 0, 0
		for i, r := range word {
			next := i + utf8.RuneLen(r)
			if s.width(word[:next]) > limit && i > 0 {
				break
			}
			end = next
			if strings.ContainsRune("-_/@.,;:·–—", r) {
				joint = next
			}
		}

		if joint > end/2 {
			end = joint
		}
		pieces = append(pieces, word[:end])
		word = word[end:]
	}
	return append(pieces, word)
}
