package pdf

import (
	"math"
	"strconv"

	"github.com/johnfercher/maroto/v2/pkg/props"
)

// palette is the colours of one document: one accent and greys.
type palette struct {
	ink    *props.Color // text
	muted  *props.Color // labels and small print
	rule   *props.Color // hairlines
	accent *props.Color // marks and large figures
	strong *props.Color // the accent, dark enough for small text on white
	tint   *props.Color // the accent, light enough to be a background
}

// DefaultAccent is the accent colour of documents that name none.
const DefaultAccent = "#1f4fd8"

// newPalette makes a palette around the first of the colours that can be read.
func newPalette(accents ...string) *palette {
	accent, _ := parseColour(DefaultAccent)
	for _, text := range accents {
		if c, ok := parseColour(text); ok {
			accent = c
			break
		}
	}
	p := &palette{
		ink:    &props.Color{Red: 23, Green: 27, Blue: 34},
		muted:  &props.Color{Red: 95, Green: 103, Blue: 115},
		rule:   &props.Color{Red: 218, Green: 222, Blue: 228},
		accent: &accent,
	}
	strong := accent
	for contrast(strong) < 4.5 {
		strong = mix(strong, props.Color{}, 0.06)
	}
	tint := mix(accent, props.WhiteColor, 0.93)
	p.strong, p.tint = &strong, &tint
	return p
}

// parseColour reads "#rrggbb".
func parseColour(text string) (props.Color, bool) {
	if len(text) != 7 || text[0] != '#' {
		return props.Color{}, false
	}
	v, err := strconv.ParseUint(text[1:], 16, 32)
	if err != nil {
		return props.Color{}, false
	}
	return props.Color{Red: int(v >> 16), Green: int(v >> 8 & 0xff), Blue: int(v & 0xff)}, true
}

// mix moves a colour towards another by share, 0 to 1.
func mix(from, to props.Color, share float64) props.Color {
	blend := func(a, b int) int { return a + int(math.Round(float64(b-a)*share)) }
	return props.Color{
		Red:   blend(from.Red, to.Red),
		Green: blend(from.Green, to.Green),
		Blue:  blend(from.Blue, to.Blue),
	}
}

// contrast returns the contrast of a colour on white as WCAG 2 defines it, 1 to 21.
func contrast(c props.Color) float64 { return 1.05 / (luminance(c) + 0.05) }

// luminance returns the relative luminance of a colour as WCAG 2 defines it, 0 to 1.
func luminance(c props.Color) float64 {
	linear := func(v int) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.Red) + 0.7152*linear(c.Green) + 0.0722*linear(c.Blue)
}
