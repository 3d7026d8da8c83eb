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

	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"golang.org/x/image/draw"
)

// A logo is fitted into a box of logoWidth × logoHeight millimeters on the page. It is
// stored at logoDPI and printed at logoLeastDPI or more.
const (
	logoWidth, logoHeight = 56.0, 17.0
	logoDPI, logoLeastDPI = 300.0, 96.0
)

// Limits of the images that are decoded and stored: a small file can hold a huge image,
// and a logo is part of every document.
const (
	maxPixels   = 8 << 20
	maxSide     = 8 << 10 // pixels; the memory for scaling depends on the longer side
	maxPNGBytes = 24 << 10
)

// PrepareLogo prepares a PNG or JPEG image for drawing: it makes the image opaque, crops
// it to its visible part and reduces it to the size of its box on the page. A light logo
// on a transparent background gets a dark background. The error explains why an image is
// unusable.
func PrepareLogo(raw []byte) ([]byte, error) {
	src, err := decode(raw)
	if err != nil {
		return nil, err
	}

	visible, light := contentBounds(src)
	if visible.Empty() {
		return nil, errors.New("the image is empty")
	}

	scale := min(
		1,
		logoWidth*logoDPI/25.4/float64(visible.Dx()),
		logoHeight*logoDPI/25.4/float64(visible.Dy()),
	)
	return encode(onBackground(src, visible, scale, light))
}

func decode(raw []byte) (image.Image, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || format != "png" && format != "jpeg" {
		return nil, errors.New("the image is neither a PNG nor a JPEG")
	}

	if config.Width < 1 || config.Height < 1 || max(config.Width, config.Height) > maxSide ||
		config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("the image has %d × %d pixels, more than allowed", config.Width, config.Height)
	}

	img, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decoding the image: %w", err)
	}
	return upright(img, raw), nil
}

// contentBounds returns the bounds of the part that is visible on white, and whether a
// transparent image is too light to be seen on white. In such an image, every pixel that is
// not transparent counts as visible.
func contentBounds(img image.Image) (visible image.Rectangle, light bool) {
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
			sum += 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(bl)
			weight += float64(a)
			// The paper shows through a transparent pixel.
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

// onBackground draws the visible part of an image, scaled, on a white or dark background.
func onBackground(src image.Image, visible image.Rectangle, scale float64, dark bool) *image.RGBA {
	w := max(1, int(math.Round(float64(visible.Dx())*scale)))
	h := max(1, int(math.Round(float64(visible.Dy())*scale)))

	background, pad := color.RGBA{255, 255, 255, 255}, 0
	if dark {
		background, pad = color.RGBA{23, 27, 34, 255}, h/4
	}

	flat := image.NewRGBA(image.Rect(0, 0, w+2*pad, h+2*pad))
	draw.Draw(flat, flat.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(flat, image.Rect(pad, pad, pad+w, pad+h), src, visible, draw.Over, nil)
	return flat
}

// encode stores an opaque image as PNG, or as JPEG if the PNG would be too large.
func encode(img image.Image) ([]byte, error) {
	var out bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, img)
	if err == nil && out.Len() > maxPNGBytes {
		out.Reset()
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 88})
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the image: %w", err)
	}
	return out.Bytes(), nil
}

// logo draws a prepared logo in the block's top left corner.
func (b *block) logo(data []byte) {
	width, height, format := printed(data)
	b.items = append(b.items, func(p core.Provider, top float64) {
		p.AddImageFromBytes(data,
			&entity.Cell{Y: top, Width: width, Height: height},
			&props.Rect{Percent: 100},
			format,
		)
	})
}

// printed returns the format and the size of a prepared logo on the page, in millimeters.
func printed(data []byte) (width, height float64, format extension.Type) {
	config, name, _ := image.DecodeConfig(bytes.NewReader(data))
	w, h := float64(config.Width), float64(config.Height)
	fit := min(logoWidth/w, logoHeight/h, 25.4/logoLeastDPI)
	return w * fit, h * fit, extension.Type(name)
}
