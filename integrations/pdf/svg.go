package pdf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/fyne-io/oksvg"
	"github.com/srwiley/rasterx"
	"golang.org/x/image/math/fixed"
)

// decodeSVG draws an SVG at the size a logo is printed with. Files with features that
// oksvg does not know (text, embedded images, filters, masks) are refused: a page without
// a logo is better than one with half a logo.
//
// Known limits: clip paths are ignored, since they usually have the size of the picture.
// So is the fill rule evenodd, without which holes stay holes only if they wind the other
// way, as editors usually write them.
func decodeSVG(raw []byte) (img image.Image, err error) {
	// oksvg panics on some malformed paths.
	defer func() {
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("drawing the SVG: %v", p)
		}
	}()

	raw = normalizeSVG(raw)
	if err := checkSVG(raw); err != nil {
		return nil, err
	}

	icon, err := oksvg.ReadIconStream(bytes.NewReader(raw), oksvg.IgnoreErrorMode)
	if err != nil {
		return nil, fmt.Errorf("reading the SVG: %w", err)
	}
	w, h := icon.ViewBox.W, icon.ViewBox.H
	if !(w > 0 && h > 0) || w/h > 40 || h/w > 40 {
		return nil, errors.New("the SVG has no usable size")
	}

	// The scale is twice that of the stored logo, since cropping the margin enlarges the
	// remaining part.
	scale := 2 * min(logoWidth/w, logoHeight/h) * logoDPI / 25.4
	width, height := int(math.Ceil(w*scale)), int(math.Ceil(h*scale))
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))

	icon.SetTarget(0, 0, float64(width), float64(height))
	for i := range icon.SVGPaths {
		icon.SVGPaths[i].LineWidth *= scale // SetTarget scales outlines but not strokes.
	}

	scanner := &boundedScanner{
		ScannerGV: rasterx.NewScannerGV(width, height, canvas, canvas.Bounds()),
		pixels:    width * height,
		// Every pixel of a gradient is compared with its stops. This counts too many rather
		// than too few.
		stops: bytes.Count(raw, []byte("stop")),
	}
	icon.Draw(rasterx.NewDasher(width, height, scanner), 1)
	return canvas, nil
}

// boundedScanner panics if a picture takes more than about three seconds to draw.
type boundedScanner struct {
	*rasterx.ScannerGV
	pixels int
	stops  int // the sum over all gradients
	work   int // estimated cost so far, in nanoseconds
}

// Line adds a line to a curve, which leads back to its beginning in the end.
func (s *boundedScanner) Line(b fixed.Point26_6) {
	x, y := int(b.X), int(b.Y)
	s.spend(100 + 10*(max(x, -x)+max(y, -y))/64) // Lines outside the picture cost time, too.
	s.ScannerGV.Line(b)
}

// Draw paints the curves.
func (s *boundedScanner) Draw() {
	s.spend((20 + s.stops) * s.pixels) // Each call goes over the whole picture.
	s.ScannerGV.Draw()
}

func (s *boundedScanner) spend(n int) {
	if s.work += n; s.work > 3e9 {
		panic("it takes too long")
	}
}

// maxUsed limits how many bytes of definitions are read by the uses of them.
const maxUsed = 1 << 20

// checkSVG rejects files that are not SVG, that can't be drawn faithfully, or that would
// make oksvg loop forever.
func checkSVG(raw []byte) error {
	var (
		decoder = xml.NewDecoder(bytes.NewReader(raw))
		defs    int // depth of nesting in definitions
		uses    int
		seen    bool
	)
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }

	for why, form := range unknownToOksvg {
		if form.Match(raw) {
			return fmt.Errorf("the SVG has %s, which can't be drawn", why)
		}
	}

	// oksvg scales outlines but not strokes.
	if scaling.Match(raw) && stroke.Match(bytes.ReplaceAll(raw, []byte("none"), nil)) {
		return errors.New("the SVG has lines and scales what it draws")
	}

	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && seen {
			return nil
		}
		if err != nil {
			return errNotAnImage
		}

		switch t := token.(type) {
		case xml.StartElement:
			name := t.Name.Local
			if seen == (name == "svg") { // There is no svg element, or one within another.
				return errNotAnImage
			}
			seen = true

			switch name {
			case "text", "image", "foreignObject", "filter", "mask", "pattern", "symbol":
				return fmt.Errorf("the SVG has an element %q, which can't be drawn", name)
			case "defs":
				defs++

			case "use":
				// A definition that uses itself would never end, and each use reads its
				// definition again, and keeps a copy.
				if uses++; defs > 0 || uses*len(raw) > maxUsed {
					return errors.New("the SVG has a use inside its definitions, or too many")
				}

			case "path":
				for _, attr := range t.Attr {
					path := oksvg.PathCursor{ErrorMode: oksvg.StrictErrorMode}
					if err := path.CompilePath(attr.Value); attr.Name.Local == "d" && err != nil {
						return fmt.Errorf("reading a path of the SVG: %w", err)
					}
				}

			case "clipPath", "style":
				if defs == 0 { // oksvg supports them inside definitions only.
					return fmt.Errorf("the SVG has an element %q outside its definitions", name)
				}
			}

		case xml.EndElement:
			if t.Name.Local == "defs" {
				defs--
			}
		}
	}
}

// Patterns of a number and of an arc's flag in path data, with an optional comma before
// them.
const (
	svgNumber = `\s*,?\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`
	svgFlag   = `\s*,?\s*([01])`
)

// unknownToOksvg matches forms that oksvg would leave out or misread. The keys name them
// in errors.
var unknownToOksvg = map[string]*regexp.Regexp{
	"dashed lines": regexp.MustCompile(`dasharray`),
	"markers":      regexp.MustCompile(`\bmarker(?:-\w+)?\s*[=:]\s*["']?\s*url`),
	"hidden elements": regexp.MustCompile(
		`display\s*[=:]\s*["']?\s*none|visibility\s*[=:]\s*["']?\s*(?:hidden|collapse)`,
	),
	"shapes of relative size": regexp.MustCompile(
		`<(?:rect|circle|ellipse|line)\b[^>]*` +
			`\s(?:[xyr]|width|height|[cr][xy]|[xy][12])\s*=\s*["'][^"']*%`,
	),
	"styles other than by class": regexp.MustCompile(
		`<style\b[^<]*(?:<!\[CDATA\[[^<]*)?[>}\[,/]\s*[a-zA-Z#*][\w-]*\s*\{`,
	),
}

var (
	scaling       = regexp.MustCompile(`transform\s*=\s*["'][^"']*(?:scale|matrix)`)
	stroke        = regexp.MustCompile(`\bstroke\s*[=:]\s*["']?\s*[^"'\s;]`)
	evenScale     = regexp.MustCompile(`\bscale\(` + svgNumber + `\s*\)`)
	svgTag        = regexp.MustCompile(`<(?:svg|rect|path)\b[^>]*`)
	relativeSize  = regexp.MustCompile(`\s(?:width|height)\s*=\s*["'][^"']*%\s*["']`)
	cornerRadius  = regexp.MustCompile(`\srx\s*=\s*("[^"]*"|'[^']*')`)
	verticalRound = regexp.MustCompile(`\sry\s*=`)
	arcSegment    = regexp.MustCompile(`[aA](?:[^a-zA-Z"']|[eE][+-]?\d)*`)
	arcArguments  = regexp.MustCompile(
		strings.Repeat(svgNumber, 3) + strings.Repeat(svgFlag, 2) + strings.Repeat(svgNumber, 2),
	)
	pathData = regexp.MustCompile(`\sd\s*=\s*("[^"]*"|'[^']*')`)
)

// normalizeSVG rewrites forms that oksvg misreads: relative sizes beside a view box, the
// standard's defaults for strokes, rectangles with one corner radius instead of two, and
// arcs that share a letter or whose flags are not separated by blanks, as optimisers
// write them. It also rewrites scales with one number, from which oksvg takes a height of
// zero.
func normalizeSVG(raw []byte) []byte {
	raw = evenScale.ReplaceAll(raw, []byte("scale($1,$1)"))

	return svgTag.ReplaceAllFunc(raw, func(tag []byte) []byte {
		switch {
		case bytes.HasPrefix(tag, []byte("<svg")):
			tag = relativeSize.ReplaceAll(tag, nil)
			return bytes.Replace(tag,
				[]byte("<svg"), []byte(`<svg stroke-width="1" stroke-linejoin="miter"`), 1)

		case bytes.HasPrefix(tag, []byte("<path")):
			return pathData.ReplaceAllFunc(tag, func(data []byte) []byte {
				return arcSegment.ReplaceAllFunc(data, func(arc []byte) []byte {
					return arcArguments.ReplaceAll(arc[1:], append(arc[:1:1], "$1 $2 $3 $4 $5 $6 $7 "...))
				})
			})

		case verticalRound.Match(tag):
			return tag
		default:
			return cornerRadius.ReplaceAll(tag, []byte(" rx=$1 ry=$1"))
		}
	})
}
