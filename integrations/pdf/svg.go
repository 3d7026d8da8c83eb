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
)

// decodeSVG draws an SVG at the size a logo is printed with. What the drawing library
// does not know (text, embedded images, filters, masks) is refused rather than left
// out: a page without a logo is better than one with half a logo.
func decodeSVG(raw []byte) (img image.Image, err error) {
	if err := checkSVG(raw); err != nil {
		return nil, err
	}
	// The library panics on some malformed paths.
	defer func() {
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("drawing the SVG: %v", p)
		}
	}()
	if raw, err = mended(raw); err != nil {
		return nil, fmt.Errorf("reading the SVG: %w", err)
	}
	icon, err := oksvg.ReadIconStream(bytes.NewReader(raw), oksvg.IgnoreErrorMode)
	if err != nil {
		return nil, fmt.Errorf("reading the SVG: %w", err)
	}
	w, h := icon.ViewBox.W, icon.ViewBox.H
	if !(w > 0 && h > 0) || w/h > 40 || h/w > 40 {
		return nil, errors.New("the SVG has no usable size")
	}
	// Twice the size it is stored with: cutting off the margin enlarges what is left.
	scale := 2 * min(logoWidth/w, logoHeight/h) * logoDPI / 25.4
	width, height := int(math.Ceil(w*scale)), int(math.Ceil(h*scale))
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	icon.SetTarget(0, 0, float64(width), float64(height))
	icon.Draw(rasterx.NewDasher(width, height, rasterx.NewScannerGV(width, height, canvas, canvas.Bounds())), 1)
	return canvas, nil
}

// checkSVG refuses what is no SVG, what can't be drawn faithfully and what would keep
// the drawing library busy for ever.
func checkSVG(raw []byte) error {
	var (
		decoder = xml.NewDecoder(bytes.NewReader(raw))
		defs    int // depth of nesting in definitions
		seen    bool
	)
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
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
			if !seen && name != "svg" {
				return errNotAnImage
			}
			seen = true
			switch name {
			case "text", "image", "foreignObject", "filter", "mask", "pattern", "symbol":
				return fmt.Errorf("the SVG has an element %q, which can't be drawn", name)
			case "defs":
				defs++
			case "use":
				// A definition that uses itself would never end.
				if defs > 0 {
					return errors.New("the SVG has a use inside its definitions")
				}
			case "clipPath", "style":
				// Known to the library inside definitions only.
				if defs == 0 {
					return fmt.Errorf("the SVG has an element %q outside its definitions", name)
				}
			}
			for _, attr := range t.Attr {
				if attr.Name.Local == "stroke-dasharray" || attr.Name.Local == "style" && strings.Contains(attr.Value, "dasharray") {
					return errors.New("the SVG has dashed lines")
				}
			}
		case xml.EndElement:
			if t.Name.Local == "defs" {
				defs--
			}
		case xml.CharData:
			if bytes.Contains(t, []byte("dasharray")) {
				return errors.New("the SVG has dashed lines")
			}
		}
	}
}

// mended works around gaps of the drawing library: it takes a relative width or height
// of the outermost element, "100%", for an error although it has the view box to go
// by, draws corners square that are given one radius instead of two, and reads path
// data in the long form only.
func mended(raw []byte) ([]byte, error) {
	relative := regexp.MustCompile(`\s(?:width|height)\s*=\s*["'][^"']*%\s*["']`)
	radius := regexp.MustCompile(`\srx\s*=\s*("[^"]*"|'[^']*')`)
	other := regexp.MustCompile(`\sry\s*=`)
	path := regexp.MustCompile(`\sd\s*=\s*("[^"]*"|'[^']*')`)
	var failure error
	mended := regexp.MustCompile(`<(?:svg|rect|path)\b[^>]*`).ReplaceAllFunc(raw, func(tag []byte) []byte {
		switch {
		case bytes.HasPrefix(tag, []byte("<svg")):
			return relative.ReplaceAll(tag, nil)
		case bytes.HasPrefix(tag, []byte("<rect")):
			if other.Match(tag) {
				return tag
			}
			return radius.ReplaceAll(tag, []byte(" rx=$1 ry=$1"))
		default:
			return path.ReplaceAllFunc(tag, func(attr []byte) []byte {
				_, value, _ := bytes.Cut(attr, []byte("="))
				data, err := explicitPath(string(bytes.Trim(bytes.TrimSpace(value), `"'`)))
				if err != nil {
					failure = err
				}
				return []byte(` d="` + data + `"`)
			})
		}
	})
	return mended, failure
}
