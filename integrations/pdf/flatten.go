package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/draw"
)

// errNotAnImage says that bytes are neither PNG nor JPEG nor SVG.
var errNotAnImage = errors.New("neither PNG nor JPEG nor SVG")

// errEmptyImage says that nothing would be seen of an image.
var errEmptyImage = errors.New("the image is empty")

// Bounds of what is decoded and stored: a small file can hold an image that fills the
// memory, and a logo goes into every document.
const (
	maxPixels    = 16 << 20
	maxPNGBytes  = 24 << 10 // above it, a logo is stored as JPEG if that is smaller
	maxLogoBytes = 32 << 10
)

func isPNG(raw []byte) bool  { return bytes.HasPrefix(raw, []byte("\x89PNG\r\n\x1a\n")) }
func isJPEG(raw []byte) bool { return bytes.HasPrefix(raw, []byte("\xff\xd8\xff")) }

// flatten makes an opaque image of a logo: cut to what is visible, on white or, where
// it would vanish there, on a dark ground, no larger than the page can show and no
// heavier than maxLogoBytes.
func flatten(raw []byte) ([]byte, error) {
	src, err := decode(raw)
	if err != nil {
		return nil, err
	}
	visible, light := survey(src)
	if visible.Empty() {
		return nil, errEmptyImage
	}
	scale := min(1, logoWidth*logoDPI/25.4/float64(visible.Dx()), logoHeight*logoDPI/25.4/float64(visible.Dy()))
	for {
		flat, err := encode(onGround(src, visible, scale, light))
		if err != nil || len(flat) <= maxLogoBytes || scale < 0.01 {
			return flat, err
		}
		scale *= 0.7 // a photograph: coarser rather than heavy
	}
}

// onGround draws the visible part of an image, scaled, on white or on a dark ground.
func onGround(src image.Image, visible image.Rectangle, scale float64, dark bool) *image.RGBA {
	w := max(1, int(math.Round(float64(visible.Dx())*scale)))
	h := max(1, int(math.Round(float64(visible.Dy())*scale)))
	ground, pad := color.RGBA{255, 255, 255, 255}, 0
	if dark {
		ground, pad = color.RGBA{23, 27, 34, 255}, h/4
	}
	flat := image.NewRGBA(image.Rect(0, 0, w+2*pad, h+2*pad))
	draw.Draw(flat, flat.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(flat, image.Rect(pad, pad, pad+w, pad+h), src, visible, draw.Over, nil)
	return flat
}

// decode reads an image of a supported format and of sensible size.
func decode(raw []byte) (image.Image, error) {
	if !isPNG(raw) && !isJPEG(raw) {
		return decodeSVG(raw)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading the image's header: %w", err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("the image has %d × %d pixels, more than allowed", config.Width, config.Height)
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decoding the image: %w", err)
	}
	return img, nil
}

// survey finds the part of an image that differs from white paper, and reports
// whether a transparent image is so light that it can't be seen on white. Of such an
// image every pixel that is not transparent counts.
func survey(img image.Image) (visible image.Rectangle, light bool) {
	var inked image.Rectangle
	var sum, weight float64
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, a := img.At(x, y).RGBA() // premultiplied, 0 to 65535
			if a < 0x0800 {
				continue
			}
			dot := image.Rect(x, y, x+1, y+1)
			visible = visible.Union(dot)
			lightness := (0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(bl)) / float64(a)
			sum += lightness * float64(a)
			weight += float64(a)
			if paper := 0xffff - a; min(r, g, bl)+paper < 0xf400 {
				inked = inked.Union(dot)
			}
		}
	}
	full := weight >= 0xffff*float64(b.Dx()*b.Dy())*0.98
	if !full && weight > 0 && sum/weight > 0.82 {
		return visible, true
	}
	return inked, false
}

// encode stores an opaque image with as few bytes as it takes: with a palette where
// its colours allow, as JPEG where it is a photograph.
func encode(img *image.RGBA) ([]byte, error) {
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, paletted(img)); err != nil {
		return nil, fmt.Errorf("encoding the image: %w", err)
	}
	if out.Len() > maxPNGBytes {
		var photo bytes.Buffer
		if err := jpeg.Encode(&photo, img, &jpeg.Options{Quality: 88}); err != nil {
			return nil, fmt.Errorf("encoding the image: %w", err)
		}
		if photo.Len() < out.Len() {
			return photo.Bytes(), nil
		}
	}
	return out.Bytes(), nil
}

// paletted returns the image with a palette if it has at most 256 colours, else itself.
func paletted(img *image.RGBA) image.Image {
	index := map[color.RGBA]uint8{}
	var palette color.Palette
	out := image.NewPaletted(img.Bounds(), nil)
	for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y++ {
		for x := img.Rect.Min.X; x < img.Rect.Max.X; x++ {
			c := img.RGBAAt(x, y)
			i, ok := index[c]
			if !ok {
				if len(palette) == 256 {
					return img
				}
				i = uint8(len(palette))
				index[c], palette = i, append(palette, c)
			}
			out.SetColorIndex(x, y, i)
		}
	}
	out.Palette = palette
	return out
}

// readyMade decodes an image and reports whether it can go into a document as it is:
// opaque, of a kind the PDF library reads, and no larger than flatten would make it.
func readyMade(raw []byte) (image.Image, bool) {
	switch {
	case isPNG(raw):
		// Bytes 24, 25 and 28 of the header: bit depth, colour type, interlacing.
		if len(raw) < 33 || raw[24] > 8 || raw[25] > 3 || raw[28] != 0 {
			return nil, false
		}
	case !isJPEG(raw):
		return nil, false
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(raw))
	// Half as much again leaves room for the dark ground.
	const most = 1.5 * logoDPI / 25.4
	if err != nil || len(raw) > maxLogoBytes || config.Width < 1 || config.Height < 1 ||
		float64(config.Width) > logoWidth*most || float64(config.Height) > logoHeight*most {
		return nil, false
	}
	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, false
	}
	switch opaque, ok := img.(interface{ Opaque() bool }); {
	case !ok || !opaque.Opaque():
		return nil, false
	case config.ColorModel == color.CMYKModel:
		return nil, false
	}
	return img, true
}
