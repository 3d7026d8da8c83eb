package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"image"
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

// PrepareLogo prepares a PNG or JPEG image for drawing: it draws the image on white paper,
// crops it to its visible part and reduces it to the size of its box on the page. The
// error explains why an image is unusable.
func PrepareLogo(raw []byte) ([]byte, error) {
	src, err := decode(raw)
	if err != nil {
		return nil, err
	}

	paper := image.NewRGBA(src.Bounds())
	draw.Draw(paper, paper.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), src, paper.Bounds().Min, draw.Over)
	visible := inked(paper)
	if visible.Empty() {
		return nil, errors.New("the image cannot be seen on white paper")
	}

	w, h := float64(visible.Dx()), float64(visible.Dy())
	scale := min(1, logoWidth*logoDPI/25.4/w, logoHeight*logoDPI/25.4/h)
	scaled := func(side float64) int { return max(1, int(math.Round(side*scale))) }
	logo := image.NewRGBA(image.Rect(0, 0, scaled(w), scaled(h)))
	draw.CatmullRom.Scale(logo, logo.Bounds(), paper, visible, draw.Src, nil)
	return encode(logo)
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

// inked returns the bounds of the pixels that are visible on white.
func inked(img *image.RGBA) (bounds image.Rectangle) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if c := img.RGBAAt(x, y); min(c.R, c.G, c.B) < 0xf4 {
				bounds = bounds.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return bounds
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
