// Package font holds the typeface of the documents: a subset of Liberation Sans for the
// scripts of quotes. Its widths are measured once, so wrapping text costs one table look-up
// per letter.
//
// The subset has no kerning, because the PDF library does not use it.
package font

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"github.com/phpdave11/gofpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Missing stands for letters that the typeface lacks.
const Missing = '□'

// Face is one weight of the typeface.
type Face struct {
	TTF []byte // the subset, a TrueType file

	// widths holds the width of each glyph, in thousandths of the type size: 0 for marks.
	widths map[rune]int
}

// Family is the typeface in the two weights that the documents use.
type Family struct {
	Regular, Bold *Face
}

// Cut returns the family with everything that needs no shaping: every Latin, Greek and
// Cyrillic letter, marks and signs. It has no invisible characters, and no ligatures,
// which are written as letters.
func Cut() (*Family, error) {
	regular, err1 := cut(liberationsansregular.TTF)
	bold, err2 := cut(liberationsansbold.TTF)
	return &Family{Regular: regular, Bold: bold}, errors.Join(err1, err2)
}

// printable reports whether a letter is part of the family.
func printable(r rune) bool {
	return !unicode.Is(unicode.Cf, r) &&
		unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Inherited, unicode.Common)
}

// Has reports whether both weights have a glyph for r.
func (f *Family) Has(r rune) bool {
	_, regular := f.Regular.widths[r]
	_, bold := f.Bold.widths[r]
	return regular && bold
}

// Width returns the width of s in thousandths of the type size.
func (f *Face) Width(s string) int {
	total := 0
	for _, r := range s {
		total += f.widths[r]
	}
	return total
}

// cut returns a face with the printable glyphs of a font.
func cut(ttf []byte) (*Face, error) {
	whole, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}

	var (
		buf  sfnt.Buffer
		keep strings.Builder
		face = &Face{widths: map[rune]int{}}
		em   = whole.UnitsPerEm()
		ppem = fixed.I(int(em))
	)

	for r := ' '; r < '\ufb00'; r++ {
		glyph, err := whole.GlyphIndex(&buf, r)
		if err != nil || glyph == 0 || !printable(r) {
			continue
		}
		advance, err := whole.GlyphAdvance(&buf, glyph, ppem, 0)
		if err != nil {
			continue
		}

		// The width is rounded as in the PDF library, so that lines have the same length.
		face.widths[r] = (1000*advance.Round() + int(em)/2) / int(em)
		keep.WriteRune(r)
	}

	// gofpdf writes into the font it is given.
	if face.TTF = gofpdf.UTF8CutFont(slices.Clone(ttf), keep.String()); len(face.TTF) == 0 {
		return nil, errors.New("the font has no Unicode table")
	}
	return face, nil
}
