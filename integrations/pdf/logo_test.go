package pdf

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"testing"

	"golang.org/x/image/draw"
)

// drawn returns an image whose middle is painted, with a margin around it.
func drawn(w, h int, ground, paint color.Color) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := ground
			if x >= w/10 && x < w-w/10 && y >= h/10 && y < h-h/10 && (x/7+y/7)%3 != 0 {
				c = paint
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	must(t, png.Encode(&out, img))
	return out.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	must(t, jpeg.Encode(&out, img, nil))
	return out.Bytes()
}

// pixels decodes a prepared logo.
func pixels(t *testing.T, logo []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(logo))
	must(t, err)
	return img
}

func TestLogoFormats(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 640, 190))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(i*i>>3) ^ uint8(i>>7)
	}

	dark := color.NRGBA{R: 15, G: 118, B: 110, A: 255}
	for name, raw := range map[string][]byte{
		"transparent PNG": asPNG(t, drawn(400, 120, color.Transparent, dark)),
		"large PNG":       asPNG(t, drawn(1300, 480, color.White, dark)),
		"tiny PNG":        asPNG(t, drawn(16, 16, color.White, dark)),
		"a photograph":    asPNG(t, noise),
		"JPEG":            asJPEG(t, drawn(500, 200, color.White, dark)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logo, err := PrepareLogo(raw)
			must(t, err)

			if w, h, _ := printed(logo); w > logoWidth+1e-9 || h > logoHeight+1e-9 || w <= 0 || h <= 0 {
				t.Errorf("it is %.1f × %.1f mm", w, h)
			}
			if o, ok := pixels(t, logo).(interface{ Opaque() bool }); !ok || !o.Opaque() {
				t.Error("it is not opaque")
			}
			if len(logo) > 100_000 {
				t.Errorf("it takes %d bytes", len(logo))
			}
		})
	}
}

func TestUnusableLogos(t *testing.T) {
	t.Parallel()
	good := asPNG(t, drawn(100, 100, color.White, color.Black))

	bomb := bytes.Clone(good)
	binary.BigEndian.PutUint32(bomb[16:], 100_000)
	binary.BigEndian.PutUint32(bomb[20:], 100_000)

	var animated bytes.Buffer
	must(t, gif.Encode(&animated, drawn(10, 10, color.White, color.Black), nil))

	for name, raw := range map[string][]byte{
		"nothing":             nil,
		"an HTML page":        []byte("<html><body>Not found</body></html>"),
		"GIF":                 animated.Bytes(),
		"a truncated PNG":     good[:len(good)/2],
		"a huge PNG":          bomb,
		"a white image":       asPNG(t, drawn(50, 50, color.White, color.White)),
		"white on no ground":  asPNG(t, drawn(50, 50, color.Transparent, color.White)), // for a dark page
		"no ink at all":       asPNG(t, drawn(50, 50, color.Transparent, color.Transparent)),
		"a line of one pixel": asPNG(t, drawn(1, maxSide+1, color.White, color.Black)),
		"SVG":                 []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>`),
	} {
		if _, err := PrepareLogo(raw); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// withExif adds Exif data to a JPEG, after the marker of its beginning.
func withExif(raw []byte, exif string) []byte {
	exif = "Exif\x00\x00" + exif
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return slices.Concat(raw[:2], segment, raw[2:])
}

// TestLogoIsTurned checks that a photographed logo is upright, as in a browser. The corner
// of the picture that Exif calls the top left one is marked.
func TestLogoIsTurned(t *testing.T) {
	t.Parallel()
	const (
		intel    = "II*\x00\x08\x00\x00\x00"
		motorola = "MM\x00*\x00\x00\x00\x08"
		maker    = "\x01\x0f\x00\x02\x00\x00\x00\x04abc\x00" // an entry before the orientation
	)
	entry := func(n byte) string { return "\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(n)) + "\x00\x00" }
	only := func(n byte) string { return motorola + "\x00\x01" + entry(n) }

	for _, tt := range []struct {
		why, exif string
		corner    image.Point // of the stored picture that is to be the top left one
		turned    bool        // rows become columns
	}{
		{"no orientation", motorola + "\x00\x00", image.Pt(0, 0), false},
		{"upright", only(1), image.Pt(0, 0), false},
		{"mirrored", only(2), image.Pt(1, 0), false},
		{"upside down", only(3), image.Pt(1, 1), false},
		{"mirrored upside down", only(4), image.Pt(0, 1), false},
		{"rows are columns", only(5), image.Pt(0, 0), true},
		{"a telephone held upright", only(6), image.Pt(0, 1), true},
		{"rows are columns, upside down", only(7), image.Pt(1, 1), true},
		{"a telephone held upside down", only(8), image.Pt(1, 0), true},
		{"after another entry", motorola + "\x00\x02" + maker + entry(3), image.Pt(1, 1), false},
		{"the other byte order", intel + "\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00", image.Pt(0, 1), true},
		{"an unknown orientation", only(9), image.Pt(0, 0), false},
		{"an entry behind the directory", motorola + "\x00\x00" + entry(6), image.Pt(0, 0), false},
		{"a directory behind the end", "MM\x00*\xff\xff\xff\xff", image.Pt(0, 0), false},
		{"half an entry", motorola + "\x00\x05" + entry(6)[:8], image.Pt(0, 0), false},
		{"nothing", "", image.Pt(0, 0), false},
	} {
		stored := image.NewNRGBA(image.Rect(0, 0, 80, 40))
		draw.Draw(stored, stored.Bounds(), image.NewUniform(color.Gray{0x80}), image.Point{}, draw.Src)
		mark := image.Rect(0, 0, 16, 16).Add(image.Pt(tt.corner.X*(80-16), tt.corner.Y*(40-16)))
		draw.Draw(stored, mark, image.NewUniform(color.Black), image.Point{}, draw.Src)

		logo, err := PrepareLogo(withExif(asJPEG(t, stored), tt.exif))
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		got := pixels(t, logo)
		if size := got.Bounds().Size(); (size.Y > size.X) != tt.turned {
			t.Errorf("%s: the logo has %v pixels", tt.why, size)
		}
		if level, _, _, _ := got.At(5, 5).RGBA(); level > 0x4000 {
			t.Errorf("%s: the top left corner is another one", tt.why)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
