package pdf

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"
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
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pixels decodes a prepared logo.
func pixels(t *testing.T, logo []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(logo))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

const plainSVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">` +
	`<path d="M10 10h80v20H10z" fill="#0f766e"/></svg>`

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
		"SVG":             []byte(plainSVG),
		"SVG of an editor": []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">` +
			`<!-- made by x, y {1} --><metadata>a {b}</metadata>` +
			`<defs><style>.a,.b{fill:#0f766e}</style></defs>` +
			`<path class="a" style="marker:none" fill-rule="evenodd" ` +
			`d="M0 0H80V40H0V0ZM10 10V30H30V10H10Z"/></svg>`),
		"SVG with prologue": []byte("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><!-- x -->\n" +
			"<!DOCTYPE svg>" + plainSVG),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logo, err := PrepareLogo(raw)
			if err != nil {
				t.Fatal(err)
			}

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

// A line is drawn as wide as the rectangle that it covers, whatever it is scaled by.
func TestLinesOfSVG(t *testing.T) {
	t.Parallel()
	want, err := PrepareLogo([]byte(plainSVG))
	if err != nil {
		t.Fatal(err)
	}
	w, h, _ := printed(want)

	for _, inner := range []string{
		`<path d="M10 20h80" stroke="#0f766e" stroke-width="20"/>`,
		`<g transform="scale(.5)"><path d="M20 20h160v40H20z" fill="#0f766e" stroke="none"/></g>`,
	} {
		got, err := PrepareLogo([]byte(
			`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">` + inner + `</svg>`))
		if err != nil {
			t.Fatal(err)
		}

		if width, height, _ := printed(got); math.Abs(width-w) > .2 || math.Abs(height-h) > .2 {
			t.Errorf("%s: %.1f × %.1f mm, want %.1f × %.1f", inner, width, height, w, h)
		}
	}
}

func TestLightLogoGetsADarkGround(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		img  image.Image
		dark bool
	}{
		"white on nothing": {drawn(300, 100, color.Transparent, color.White), true},
		"green on nothing": {drawn(300, 100, color.Transparent, color.NRGBA{G: 120, A: 255}), false},
		"green on white":   {drawn(300, 100, color.White, color.NRGBA{G: 120, A: 255}), false},
		"white on green":   {drawn(300, 100, color.NRGBA{G: 120, A: 255}, color.White), false},
	} {
		logo, err := PrepareLogo(asPNG(t, c.img))
		if err != nil {
			t.Fatal(err)
		}

		r, g, b, _ := pixels(t, logo).At(0, 0).RGBA()
		if got := r < 0x4000 && g < 0x4000 && b < 0x4000; got != c.dark {
			t.Errorf("%s: the ground is #%02x%02x%02x", name, r>>8, g>>8, b>>8)
		}
	}
}

func TestUnusableLogos(t *testing.T) {
	t.Parallel()
	good := asPNG(t, drawn(100, 100, color.White, color.Black))

	bomb := bytes.Clone(good)
	binary.BigEndian.PutUint32(bomb[16:], 100_000)
	binary.BigEndian.PutUint32(bomb[20:], 100_000)

	var animated bytes.Buffer
	if err := gif.Encode(&animated, drawn(10, 10, color.White, color.Black), nil); err != nil {
		t.Fatal(err)
	}

	svg := func(inner string) []byte {
		return []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">` + inner + `</svg>`)
	}

	for name, raw := range map[string][]byte{
		"nothing":          nil,
		"a page":           []byte("<html><body>Not found</body></html>"),
		"GIF":              animated.Bytes(),
		"a cut PNG":        good[:len(good)/2],
		"a huge PNG":       bomb,
		"a white image":    asPNG(t, drawn(50, 50, color.White, color.White)),
		"an empty SVG":     svg(""),
		"a cut SVG":        []byte(plainSVG[:len(plainSVG)-8]),
		"text in SVG":      svg(`<path d="M0 0h9v9z"/><text>Nord</text>`),
		"an image in SVG":  svg(`<image href="x.png"/>`),
		"a clip":           svg(`<clipPath id="c"><path d="M0 0h9v9z"/></clipPath>`),
		"a style":          svg(`<style>.a{fill:red}</style><path class="a" d="M0 0h9v9z"/>`),
		"dashes":           svg(`<path d="M0 0h9" stroke="#000" stroke-dasharray="0.00001"/>`),
		"hidden":           svg(`<path d="M0 0h9v9z"/><g style="display:none"><path d="M0 0h9v9z"/></g>`),
		"a marker":         svg(`<path d="M0 0h9" stroke="#000" marker-end="url(#m)"/>`),
		"relative size":    svg(`<rect width="40%" height="9"/>`),
		"a styled element": svg(`<defs><style>path{fill:red}</style></defs><path d="M0 0h9v9z"/>`),
		"a picture in one": svg(`<svg x="5" viewBox="0 0 5 5"><path d="M0 0h9v9z"/></svg>`),
		"many uses": svg(`<defs><g id="a">` + strings.Repeat(`<path d="M0 0h9v9z"/>`, 2000) + `</g></defs>` +
			strings.Repeat(`<use href="#a"/>`, 2000)),
		"a thread": asPNG(t, drawn(1, maxSide+1, color.White, color.Black)),
		"many small uses": svg(`<defs><path id="a" d="M0 0h9v9z"/></defs>` +
			strings.Repeat(`<use href="#a"/>`, 3300)),
		"long lines":    svg(strings.Repeat(`<path d="M0 -9e8 L5 2 L0 2Z"/>`, 20_000)),
		"scaled lines":  svg(`<g transform="matrix(4 0 0 4 0 0)"><path d="M0 0h2" stroke="navy"/></g>`),
		"use of itself": svg(`<defs><g id="a"><use href="#a"/></g></defs><use href="#a"/>`),
		"broken path":   svg(`<path d="M0 0 L 5"/>`),
		"entities": []byte(`<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` +
			`<svg viewBox="0 0 9 9">&b;</svg>`),
		"a needle":           []byte(`<svg viewBox="0 0 100000 1"><path d="M0 0h9v9z"/></svg>`),
		"not a number's SVG": []byte(`<svg viewBox="0 0 NaN NaN"><path d="M0 0h9v9z"/></svg>`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := PrepareLogo(raw); err == nil {
				t.Error("it was taken")
			}
		})
	}
}
