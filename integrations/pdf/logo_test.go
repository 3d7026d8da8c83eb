package pdf

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"sync"
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

const plainSVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40"><path d="M10 10h80v20H10z" fill="#0f766e"/></svg>`

func TestLogoFormats(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 640, 190))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(i*i>>3) ^ uint8(i>>7)
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 300, 100))
	for i := range deep.Pix {
		deep.Pix[i] = uint8(i % 251)
	}
	dark := color.NRGBA{R: 15, G: 118, B: 110, A: 255}
	for name, raw := range map[string][]byte{
		"transparent PNG":   asPNG(t, drawn(400, 120, color.Transparent, dark)),
		"large PNG":         asPNG(t, drawn(1300, 480, color.White, dark)),
		"tiny PNG":          asPNG(t, drawn(16, 16, color.White, dark)),
		"16 bits a channel": asPNG(t, deep),
		"a photograph":      asPNG(t, noise),
		"JPEG":              asJPEG(t, drawn(500, 200, color.White, dark)),
		"large JPEG":        asJPEG(t, drawn(1400, 470, color.White, dark)),
		"SVG":               []byte(plainSVG),
		"SVG with prologue": []byte("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><!-- x -->\n<!DOCTYPE svg>" + plainSVG),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := newLogo(raw)
			if err != nil {
				t.Fatal(err)
			}
			if l.w > logoWidth+1e-9 || l.h > logoHeight+1e-9 || l.w <= 0 || l.h <= 0 {
				t.Errorf("it is %.1f × %.1f mm", l.w, l.h)
			}
			img, format, err := image.Decode(bytes.NewReader(l.data))
			if err != nil {
				t.Fatal(err)
			}
			if string(l.kind) != strings.Replace(format, "jpeg", "jpg", 1) {
				t.Errorf("it is called %s and is %s", l.kind, format)
			}
			if o, ok := img.(interface{ Opaque() bool }); !ok || !o.Opaque() {
				t.Error("it is not opaque")
			}
			if len(l.data) > maxLogoBytes {
				t.Errorf("it takes %d bytes", len(l.data))
			}
			if again, err := newLogo(l.data); err != nil || !bytes.Equal(again.data, l.data) {
				t.Errorf("flattened again it is another (%v)", err)
			}
		})
	}
}

func TestLogoIsCutToWhatIsVisible(t *testing.T) {
	t.Parallel()
	l, err := newLogo(asPNG(t, drawn(1000, 1000, color.Transparent, color.Black)))
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(l.data))
	if err != nil {
		t.Fatal(err)
	}
	edge := false
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		if r, _, _, _ := img.At(img.Bounds().Min.X, y).RGBA(); r < 0x8000 {
			edge = true
		}
	}
	if !edge {
		t.Error("the margin is still there")
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
		flat, err := flatten(asPNG(t, c.img))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(flat))
		if err != nil {
			t.Fatal(err)
		}
		r, g, b, _ := img.At(0, 0).RGBA()
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
		"nothing":            nil,
		"text":               []byte("hello"),
		"a page":             []byte("<html><body>Not found</body></html>"),
		"GIF":                animated.Bytes(),
		"a cut PNG":          good[:len(good)/2],
		"a huge PNG":         bomb,
		"only a signature":   good[:8],
		"a cut JPEG":         asJPEG(t, drawn(50, 50, color.White, color.Black))[:200],
		"a white image":      asPNG(t, drawn(50, 50, color.White, color.White)),
		"a clear image":      asPNG(t, drawn(50, 50, color.Transparent, color.Transparent)),
		"an empty SVG":       svg(""),
		"no view box":        []byte(`<svg><path d="M0 0h9v9z"/></svg>`),
		"a cut SVG":          []byte(plainSVG[:len(plainSVG)-8]),
		"text in SVG":        svg(`<path d="M0 0h9v9z"/><text>Nord</text>`),
		"an image in SVG":    svg(`<image href="x.png"/>`),
		"a clip":             svg(`<clipPath id="c"><path d="M0 0h9v9z"/></clipPath>`),
		"a style":            svg(`<style>.a{fill:red}</style><path class="a" d="M0 0h9v9z"/>`),
		"dashes":             svg(`<path d="M0 0h9" stroke="#000" stroke-dasharray="0.00001"/>`),
		"dashes in a style":  svg(`<defs><style>.a{stroke-dasharray:0}</style></defs><path class="a" d="M0 0h9"/>`),
		"use of itself":      svg(`<defs><g id="a"><use href="#a"/></g></defs><use href="#a"/>`),
		"broken path":        svg(`<path d="M0 0 L 5"/>`),
		"entities":           []byte(`<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg viewBox="0 0 9 9">&b;</svg>`),
		"a needle":           []byte(`<svg viewBox="0 0 100000 1"><path d="M0 0h9v9z"/></svg>`),
		"a negative SVG":     []byte(`<svg viewBox="0 0 -5 5"><path d="M0 0h9v9z"/></svg>`),
		"not a number's SVG": []byte(`<svg viewBox="0 0 NaN NaN"><path d="M0 0h9v9z"/></svg>`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if l, err := newLogo(raw); err == nil {
				t.Errorf("it was taken, %.1f × %.1f mm", l.w, l.h)
			}
			if newLogoStore().get(raw) != nil {
				t.Error("the store gave a logo")
			}
		})
	}
}

func TestLogoStoreKeepsFew(t *testing.T) {
	t.Parallel()
	store := newLogoStore()
	first := asPNG(t, drawn(50, 50, color.White, color.NRGBA{R: 200, A: 255}))
	kept := store.get(first)
	if kept == nil || store.get(first) != kept {
		t.Fatal("a logo is flattened more than once")
	}
	var group sync.WaitGroup
	for i := range 3 * storedLogos {
		group.Go(func() { store.get(asPNG(t, drawn(50, 50, color.White, color.NRGBA{G: uint8(i), A: 255}))) })
	}
	group.Wait()
	if n := store.order.Len(); n != storedLogos || len(store.byKey) != n {
		t.Errorf("%d logos are kept, %d by key", n, len(store.byKey))
	}
	if store.get(first) == kept {
		t.Error("the oldest was not let go")
	}
}

func TestExplicitPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"M10 10h80v20H10z":         "M 10 10 h 80 v 20 H 10 z ",
		"m1,2 3,4":                 "m 1 2 l 3 4 ",
		"M1 2 3 4L5-6.5.5":         "M 1 2 L 3 4 L 5 -6.5 L 0.5", // the last pair lacks a number
		"M0 0a13 13 0 1126 0":      "M 0 0 a 13 13 0 1 1 26 0 ",
		"M0 0a1 1 0 013 4 1 1 0 1": "",
		"M0 0a5 5 0 10.5.5Z":       "M 0 0 a 5 5 0 1 0 0.5 0.5 Z ",
		"M1e1-2.5e-1L+3,.4":        "M 10 -0.25 L 3 0.4 ",
		"M0 0z M1 1":               "M 0 0 z M 1 1 ",
		"":                         "",
	} {
		got, err := explicitPath(in)
		if err != nil {
			if strings.HasSuffix(want, " ") || in == "" {
				t.Errorf("%q: %v", in, err)
			}
			continue
		}
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"10 10", "M1", "Mx", "M0 0zz 1", "M0 0 L 5", "M0 0 C 1 2 3 4 5", "M 1 -", "M0 0a1 1 0 2 1 3 4 5"} {
		if got, err := explicitPath(in); err == nil {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// TestShortAndLongPathsLookAlike draws a ring written by hand and by an optimiser.
func TestShortAndLongPathsLookAlike(t *testing.T) {
	t.Parallel()
	ring := func(d string) image.Image {
		img, err := decodeSVG([]byte(`<svg viewBox="0 0 46 46" width="100%" height="50%"><path d='` + d + `'/></svg>`))
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	long := ring("M 10 23 A 13 13 0 0 1 36 23 A 13 13 0 0 1 10 23 Z")
	short := ring("M10 23a13 13 0 0126 0 13 13 0 01-26 0z")
	for y := range long.Bounds().Dy() {
		for x := range long.Bounds().Dx() {
			_, _, _, a := long.At(x, y).RGBA()
			_, _, _, b := short.At(x, y).RGBA()
			if max(a, b)-min(a, b) > 0x2000 {
				t.Fatalf("they differ at %d, %d", x, y)
			}
		}
	}
}

func TestOneRadiusRoundsBothWays(t *testing.T) {
	t.Parallel()
	img, err := decodeSVG([]byte(`<svg viewBox="0 0 40 40"><rect width="40" height="40" rx="12"/></svg>`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, a := img.At(1, 1).RGBA(); a != 0 {
		t.Error("the corner is square")
	}
}
