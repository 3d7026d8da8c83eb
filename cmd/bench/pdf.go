package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"time"

	"github.com/fyne-io/oksvg"
	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/col"
	marotoimage "github.com/johnfercher/maroto/v2/pkg/components/image"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"
	"github.com/rs/zerolog"
	"github.com/srwiley/rasterx"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/font"
	"siteapi/integrations/pdf/pdftest"
)

// rivals draw a page of the same weight as the typical quote in other ways: as many
// texts in the same two fonts, as many bars, a logo.
type rivals struct {
	cut       *font.Family
	texts     []string
	flat      []byte // the logo, opaque
	withAlpha []byte // the logo as an image pipeline sends it
}

const pageBars = 13

func newRivals(d pdf.Document) *rivals {
	r := &rivals{cut: harness.Must(font.Latin()), flat: sampleLogo(661, color.White), withAlpha: sampleLogo(900, color.Transparent)}
	s := d.Submission
	r.texts = append(r.texts, d.Company.Name, s.Contact.FirstName, s.Contact.LastName, s.Contact.Company, s.Contact.Email, s.Contact.Phone)
	for _, line := range d.Company.Lines {
		r.texts = append(r.texts, line.Text)
	}
	for _, slug := range append(s.Selections.Features, s.Selections.ProjectType, s.Selections.Complexity, s.Selections.Timeline) {
		r.texts = append(r.texts, d.Labels[slug])
	}
	r.texts = append(r.texts, "Estimare de preț", "Referință", "F81D4FAE", "Data", "4 martie 2026", "Preț estimat", "12.000 – 18.500 EUR",
		"Un preț orientativ pentru opțiunile de mai jos.", "Pregătită pentru", "Proiectul dumneavoastră", "Tipul proiectului",
		"Complexitate", "Termen", "Funcționalități", "Pașii următori", "1", "Analizăm opțiunile alese și ne pregătim întrebările.", "2",
		"Vă contactăm pentru a discuta despre obiectivele, prioritățile și termenele", "dumneavoastră.", "3",
		"Primiți o propunere scrisă, în care sunt stabilite conținutul lucrărilor,", "calendarul și prețul.", "De reținut",
		"Această estimare se bazează exclusiv pe opțiunile pe care le-ați ales și nu reprezintă", "Pagina 1 din 1")
	return r
}

// sampleLogo is the sample's logo as a PNG of a width in pixels: 661 are what a page
// shows, 900 what an image pipeline sends.
func sampleLogo(width int, ground color.Color) []byte {
	svg := strings.ReplaceAll(pdftest.LogoSVG, `="100%"`, `="100"`)
	icon := harness.Must(oksvg.ReadIconStream(strings.NewReader(svg), oksvg.IgnoreErrorMode))
	img := image.NewRGBA(image.Rect(0, 0, width, width/4))
	draw.Draw(img, img.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
	icon.SetTarget(0, 0, float64(img.Rect.Dx()), float64(img.Rect.Dy()))
	icon.Draw(rasterx.NewDasher(img.Rect.Dx(), img.Rect.Dy(), rasterx.NewScannerGV(img.Rect.Dx(), img.Rect.Dy(), img, img.Rect)), 1)
	var out bytes.Buffer
	harness.Check(png.Encode(&out, img))
	return out.Bytes()
}

// bare draws with the PDF library underneath and nothing else.
func (r *rivals) bare() []byte {
	f := gofpdf.New("P", "mm", "A4", "")
	f.SetAutoPageBreak(false, 0)
	f.AddUTF8FontFromBytes("regular", "", bytes.Clone(r.cut.Regular.TTF))
	f.AddUTF8FontFromBytes("bold", "", bytes.Clone(r.cut.Bold.TTF))
	f.AddPage()
	for i, text := range r.texts {
		f.SetFont([]string{"bold", "regular", "regular"}[i%3], "", 9.5)
		f.Text(20, 20+5*float64(i), text)
	}
	for i := range pageBars {
		f.SetLineWidth(0.2)
		f.Line(20, float64(20+i), 190, float64(20+i))
	}
	options := gofpdf.ImageOptions{ImageType: "png"}
	f.RegisterImageOptionsReader("logo", options, bytes.NewReader(r.flat))
	f.ImageOptions("logo", 20, 20, 56, 14, false, options, 0, "")
	var out bytes.Buffer
	harness.Check(f.Output(&out))
	return out.Bytes()
}

// fullFont draws with maroto as it comes: fonts uncut, the logo with an alpha channel.
func (r *rivals) fullFont() []byte {
	cfg := config.NewBuilder().WithCompression(true).
		WithCustomFonts([]*entity.CustomFont{
			{Family: "regular", Style: fontstyle.Normal, Bytes: bytes.Clone(liberationsansregular.TTF)},
			{Family: "bold", Style: fontstyle.Normal, Bytes: bytes.Clone(liberationsansbold.TTF)},
		}).
		WithDefaultFont(&props.Font{Family: "regular", Size: 9.5}).Build()
	m := maroto.New(cfg)
	for i, line := range r.texts {
		m.AddRow(5, text.NewCol(12, line, props.Text{Family: []string{"bold", "regular", "regular"}[i%3], Size: 9.5}))
	}
	m.AddRow(17, col.New(12).Add(marotoimage.NewFromBytes(r.withAlpha, extension.Png)))
	return harness.Must(m.Generate()).GetBytes()
}

// pdfCold compares a cold render of the typical quote with both, in turn.
func pdfCold(ctx context.Context, b *bench) []line {
	d := pdftest.Sample("ro", "typical")
	r, renderer := newRivals(d), harness.Must(pdf.New(pdf.Options{Log: zerolog.Nop()}))
	ways := []func() []byte{func() []byte { return harness.Must(renderer.Render(ctx, d)) }, r.bare, r.fullFont}
	took, size := make([][]float64, len(ways)), 0.0
	for round := range 40 * b.rounds {
		for i := range ways {
			way := (i + round) % len(ways) // none always runs after the same other
			start := time.Now()
			file := ways[way]()
			took[way] = append(took[way], milliseconds(time.Since(start)))
			if way == 0 {
				size = float64(len(file))
			}
		}
	}
	return []line{
		compare("pdf-cold-vs-fpdf", "ms", "≤ 1.15", took[1], took[0]),
		compare("pdf-cold-vs-fullfont", "ms", "≤ 0.45", took[2], took[0]),
		{name: "pdf-size", ratio: size / 60_000, baseline: 60_000, value: size, unit: "bytes", goal: "< 60 KB"},
	}
}
