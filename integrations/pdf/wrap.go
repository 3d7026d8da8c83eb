package pdf

import (
	"strings"
	"unicode/utf8"

	"siteapi/integrations/pdf/font"
)

// mmPerPt is the length of a typographic point in millimetres.
const mmPerPt = 25.4 / 72

// slack keeps a line from being as wide as its column to the last bit, where the PDF
// library's own rounding could decide otherwise, in millimetres.
const slack = 0.01

// width returns the width of text set in a face at a size in points, in millimetres.
func width(text string, face *font.Face, size float64) float64 {
	return float64(face.Width(text)) * size * mmPerPt / 1000
}

// wrap breaks text into lines no wider than limit millimetres: between words, and
// inside a word only where it would not fit on a line of its own.
func wrap(text string, face *font.Face, size, limit float64) []string {
	limit -= slack
	var (
		lines []string
		line  string
	)
	for word := range strings.SplitSeq(text, " ") {
		if word == "" {
			continue
		}
		longer := word
		if line != "" {
			longer = line + " " + word
		}
		if width(longer, face, size) <= limit {
			line = longer
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := split(word, face, size, limit)
		lines = append(lines, pieces[:len(pieces)-1]...)
		line = pieces[len(pieces)-1]
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split cuts a word into pieces that fit. It cuts behind a joint such as "-" or "@"
// where there is one in the later half of a piece, else between any two letters.
func split(word string, face *font.Face, size, limit float64) []string {
	var pieces []string
	for width(word, face, size) > limit {
		end, joint := 0, 0
		for i, r := range word {
			next := i + utf8.RuneLen(r)
			if width(word[:next], face, size) > limit && i > 0 {
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
		if word = word[end:]; word == "" {
			return pieces
		}
	}
	return append(pieces, word)
}

// fit returns the largest size from size down to least, in points, at which text is no
// wider than limit millimetres; least where none is.
func fit(text string, face *font.Face, size, least, limit float64) float64 {
	if w := width(text, face, size); w > limit-slack {
		size *= (limit - slack) / w
	}
	return max(size, least)
}
