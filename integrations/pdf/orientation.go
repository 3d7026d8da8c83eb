package pdf

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
)

// upright turns a JPEG as its Exif data says. Cameras store the picture as the sensor saw
// it, and browsers turn it.
func upright(img image.Image, raw []byte) image.Image {
	if n := orientation(raw); n > 1 && n <= 8 {
		return turned{img, n}
	}
	return img
}

// orientation returns the tag 0x0112 of the first directory of Exif data, or 0.
func orientation(raw []byte) int {
	_, exif, _ := bytes.Cut(raw, []byte("Exif\x00\x00"))
	if len(exif) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}

	// A directory is the number of its entries, and then the entries of 12 bytes.
	directory := exif[min(uint64(order.Uint32(exif[4:])), uint64(len(exif))):]
	for i := 2; i+12 <= len(directory) && i < 2+12*int(order.Uint16(directory)); i += 12 {
		if order.Uint16(directory[i:]) == 0x0112 {
			return int(order.Uint16(directory[i+8:]))
		}
	}
	return 0
}

// turned is an image with an orientation from 2 to 8: mirrored, or with its rows as columns
// from 5 on.
type turned struct {
	image.Image
	orientation int
}

func (t turned) Bounds() image.Rectangle {
	size := t.Image.Bounds().Size()
	if t.orientation >= 5 {
		size.X, size.Y = size.Y, size.X
	}
	return image.Rectangle{Max: size}
}

func (t turned) At(x, y int) color.Color {
	if t.orientation >= 5 {
		x, y = y, x
	}
	b := t.Image.Bounds()
	switch t.orientation {
	case 2, 3, 7, 8:
		x = b.Dx() - 1 - x
	}
	switch t.orientation {
	case 3, 4, 6, 7:
		y = b.Dy() - 1 - y
	}
	return t.Image.At(b.Min.X+x, b.Min.Y+y)
}
