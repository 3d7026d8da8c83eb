package pdf

import (
	"fmt"
	"math"
)

// rgb is a color of three parts from 0 to 255.
type rgb struct{ red, green, blue int }

// palette holds the colors of one document: one accent and grays.
type palette struct {
	// ink is the color of text, muted that of labels and small print, rule that of
	// hairlines.
	ink, muted, rule rgb

	accent rgb // marks
	strong rgb // the accent, dark enough for small text on white
	tint   rgb // the accent, light enough to be a background
}

// newPalette returns the palette of a company.
func newPalette(c Company) *palette {
	accent, _ := parseColor(c.AccentColor())
	strong := accent
	for contrast(strong) < 4.5 {
		strong = mix(strong, rgb{}, 0.06)
	}

	return &palette{
		ink:    rgb{23, 27, 34},
		muted:  rgb{95, 103, 115},
		rule:   rgb{218, 222, 228},
		accent: accent,
		strong: strong,
		tint:   mix(accent, rgb{255, 255, 255}, 0.93),
	}
}

func parseColor(text string) (rgb, bool) {
	var c rgb
	n, err := fmt.Sscanf(text, "#%02x%02x%02x", &c.red, &c.green, &c.blue)
	return c, err == nil && n == 3 && len(text) == 7
}

// mix moves a color toward another. share is 0 for the first color and 1 for the
// second.
func mix(from, to rgb, share float64) rgb {
	blend := func(a, b int) int { return a + int(math.Round(float64(b-a)*share)) }
	return rgb{blend(from.red, to.red), blend(from.green, to.green), blend(from.blue, to.blue)}
}

// contrast returns the contrast of a color with white as WCAG 2 defines it, from 1 to
// 21.
func contrast(c rgb) float64 {
	linear := func(v int) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	luminance := 0.2126*linear(c.red) + 0.7152*linear(c.green) + 0.0722*linear(c.blue)
	return 1.05 / (luminance + 0.05)
}
