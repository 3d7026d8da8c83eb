package pdf

import (
	"fmt"
	"math"

	"github.com/johnfercher/maroto/v2/pkg/props"
)

// palette holds the colors of one document: one accent and grays.
type palette struct {
	// ink is the color of text, muted that of labels and small print, rule that of
	// hairlines.
	ink, muted, rule props.Color

	accent props.Color // marks
	strong props.Color // the accent, dark enough for small text on white
	tint   props.Color // the accent, light enough to be a background
}

// newPalette returns the palette of a company.
func newPalette(c Company) *palette {
	accent, _ := parseColor(c.AccentColor())
	strong := accent
	for contrast(strong) < 4.5 {
		strong = mix(strong, props.Color{}, 0.06)
	}

	return &palette{
		ink:    props.Color{Red: 23, Green: 27, Blue: 34},
		muted:  props.Color{Red: 95, Green: 103, Blue: 115},
		rule:   props.Color{Red: 218, Green: 222, Blue: 228},
		accent: accent,
		strong: strong,
		tint:   mix(accent, props.WhiteColor, 0.93),
	}
}

func parseColor(text string) (props.Color, bool) {
	var c props.Color
	n, err := fmt.Sscanf(text, "#%02x%02x%02x", &c.Red, &c.Green, &c.Blue)
	return c, err == nil && n == 3 && len(text) == 7
}

// mix moves a color toward another. share is 0 for the first color and 1 for the
// second.
func mix(from, to props.Color, share float64) props.Color {
	blend := func(a, b int) int { return a + int(math.Round(float64(b-a)*share)) }
	return props.Color{
		Red:   blend(from.Red, to.Red),
		Green: blend(from.Green, to.Green),
		Blue:  blend(from.Blue, to.Blue),
	}
}

// contrast returns the contrast of a color with white as WCAG 2 defines it, from 1 to
// 21.
func contrast(c props.Color) float64 {
	linear := func(v int) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	luminance := 0.2126*linear(c.Red) + 0.7152*linear(c.Green) + 0.0722*linear(c.Blue)
	return 1.05 / (luminance + 0.05)
}
