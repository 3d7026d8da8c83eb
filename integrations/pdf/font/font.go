// Package font holds the typeface of the documents: subsets of Liberation Sans for the
// scripts of quotes. Its widths are measured once, so wrapping text costs one table look-up
// per letter.
//
// The subsets have no kerning, because the PDF library does not use it.
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

// latin contains the letters of en, es and ro, and of nearly every European name.
var latin = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0020, Hi: 0x007e, Stride: 1}, // Basic Latin
	{Lo: 0x00a0, Hi: 0x017f, Stride: 1}, // Latin-1 Supplement, Latin Extended-A
	{Lo: 0x0218, Hi: 0x021b, Stride: 1}, // the Romanian letters with a comma below
	{Lo: 0x2010, Hi: 0x2027, Stride: 1}, // dashes, quotation marks, bullet, ellipsis
	{Lo: 0x2030, Hi: 0x205e, Stride: 1}, // other punctuation
	{Lo: 0x20a0, Hi: 0x20cf, Stride: 1}, // currency signs
	{Lo: 0x2113, Hi: 0x2122, Stride: 1}, // number and trade mark signs
	{Lo: Missing, Hi: Missing, Stride: 1},
}}

// Latin returns the family with Latin letters, punctuation and currency signs. Rendering a
// document with it is a fifth faster than with [Wide].
func Latin() (*Family, error) {
	return cutFamily(func(r rune) bool { return unicode.Is(latin, r) })
}

// Wide returns the family with everything that needs no shaping: every Latin, Greek and
// Cyrillic letter, marks and signs. It has no invisible characters, and no ligatures,
// which are written as letters.
func Wide() (*Family, error) {
	return cutFamily(func(r rune) bool {
		return r < '\ufb00' && !unicode.Is(unicode.Cf, r) &&
			unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Inherited, unicode.Common)
	})
}

func cutFamily(has func(r rune) bool) (*Family, error) {
	regular, err1 := cut(liberationsansregular.TTF, has)
	bold, err2 := cut(liberationsansbold.TTF, has)
	return &Family{Regular: regular, Bold: bold}, errors.Join(err1, err2)
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

// cut returns a face with the glyphs of a font for the given characters.
func cut(ttf []byte, has func(r rune) bool) (*Face, error) {
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

	for r := rune(' '); r <= '\uffff'; r++ {
		if !has(r) {
			continue
		}
		glyph, err := whole.GlyphIndex(&buf, r)
		if err != nil || glyph == 0 {
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
