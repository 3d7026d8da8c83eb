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

	// widths holds the width of each code point, in thousandths of the type size: 0 if there
	// is no glyph.
	widths []uint16
}

// Family is the typeface in the two weights that the documents use.
type Family struct {
	Regular, Bold *Face
}

// block is an inclusive range of code points.
type block struct{ first, last rune }

// latin contains the letters of en, es and ro, and of nearly every European name.
func latin() []block {
	return []block{
		{0x0020, 0x007e}, // Basic Latin
		{0x00a0, 0x017f}, // Latin-1 Supplement, Latin Extended-A
		{0x0218, 0x021b}, // the Romanian letters with a comma below
		{0x2010, 0x2027}, // dashes, quotation marks, bullet, ellipsis
		{0x2030, 0x205e}, // other punctuation
		{0x20a0, 0x20cf}, // currency signs
		{0x2113, 0x2122}, // number and trade mark signs
		{Missing, Missing},
	}
}

// Latin returns the family with Latin letters, punctuation and currency signs. Rendering a
// document with it is a fifth faster than with [Wide].
func Latin() (*Family, error) { return cutFamily(latin()) }

// Wide returns the family with all alphabets that need no shaping: every Latin letter, Greek
// and Cyrillic.
func Wide() (*Family, error) {
	return cutFamily(append(latin(), block{0x0180, 0x024f}, block{0x0370, 0x052f}, block{0x1e00, 0x1fff}))
}

func cutFamily(blocks []block) (*Family, error) {
	regular, err1 := cut(liberationsansregular.TTF, blocks)
	bold, err2 := cut(liberationsansbold.TTF, blocks)
	return &Family{Regular: regular, Bold: bold}, errors.Join(err1, err2)
}

// Has reports whether both weights have a glyph for r.
func (f *Family) Has(r rune) bool { return f.Regular.width(r) > 0 && f.Bold.width(r) > 0 }

// Width returns the width of s in thousandths of the type size.
func (f *Face) Width(s string) int {
	total := 0
	for _, r := range s {
		total += f.width(r)
	}
	return total
}

func (f *Face) width(r rune) int {
	if r < 0 || int(r) >= len(f.widths) {
		return 0
	}
	return int(f.widths[r])
}

// cut returns a face with the glyphs of a font for the given blocks.
func cut(ttf []byte, blocks []block) (*Face, error) {
	whole, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}

	var (
		buf  sfnt.Buffer
		keep strings.Builder
		face = &Face{widths: make([]uint16, Missing+1)}
		em   = whole.UnitsPerEm()
		ppem = fixed.I(int(em))
	)

	for _, b := range blocks {
		for r := b.first; r <= b.last; r++ {
			glyph, err := whole.GlyphIndex(&buf, r)
			if err != nil || glyph == 0 {
				continue
			}
			advance, err := whole.GlyphAdvance(&buf, glyph, ppem, 0)
			if err != nil || advance <= 0 {
				continue // The PDF library measures glyphs without a width differently.
			}

			// The width is rounded as in the PDF library, so that lines have the same length.
			face.widths[r] = uint16((1000*advance.Round() + int(em)/2) / int(em))
			keep.WriteRune(r)
		}
	}

	// gofpdf writes into the font it is given.
	if face.TTF = gofpdf.UTF8CutFont(slices.Clone(ttf), keep.String()); len(face.TTF) == 0 {
		return nil, errors.New("the font has no Unicode table")
	}
	return face, nil
}
