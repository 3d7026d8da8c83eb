package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"time"

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
	"golang.org/x/image/draw"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/font"
	"siteapi/integrations/pdf/pdftest"
)

// page is the content that the baselines draw: as many texts in the same two fonts as the
// typical quote has, as many bars, and a logo.
const page = `Atelier Nord|Ștefania|Núñez Țurcanu|Brânză & Fiii SRL|stefania@example.com|+40 721 555 014|
Strada Mihai Eminescu 12|010512 București, România|+40 21 555 0123|hello@ateliernord.example|Conturi de utilizator|
Plăți online|Conținut în mai multe limbi|Blog|Panou de statistici|Calendar de programări|Buletin informativ|Magazin online|
Medie|Între trei și șase luni|Estimare de preț|Referință|F81D4FAE|Data|4 martie 2026|Preț estimat|12.000 – 18.500 EUR|
Un preț orientativ pentru opțiunile de mai jos.|Pregătită pentru|Proiectul dumneavoastră|Tipul proiectului|Complexitate|Termen|
Funcționalități|Pașii următori|1|Analizăm opțiunile alese și ne pregătim întrebările.|2|dumneavoastră.|calendarul și prețul.|
Vă contactăm pentru a discuta despre obiectivele, prioritățile și termenele|3|De reținut|Pagina 1 din 1|
Primiți o propunere scrisă, în care sunt stabilite conținutul lucrărilor,|
Această estimare se bazează exclusiv pe opțiunile pe care le-ați ales și nu reprezintă`

// texts yields the texts of page with their fonts.
func texts(yield func(text, font string) bool) {
	for i, text := range strings.Split(strings.ReplaceAll(page, "\n", ""), "|") {
		yield(text, []string{"bold", "regular", "regular"}[i%3])
	}
}

// withAlpha returns a logo as an image pipeline sends it: larger, with an alpha channel.
func withAlpha(logo []byte) []byte {
	src := harness.Must(png.Decode(bytes.NewReader(logo)))
	img := image.NewNRGBA(image.Rect(0, 0, 900, 228))
	draw.BiLinear.Scale(img, image.Rect(0, 0, 900, 225), src, src.Bounds(), draw.Src, nil)

	var out bytes.Buffer
	harness.Check(png.Encode(&out, img))
	return out.Bytes()
}

// drawBare draws with the PDF library alone, without maroto.
func drawBare(fonts *font.Family, logo []byte) {
	f := gofpdf.New("P", "mm", "A4", "")
	f.SetAutoPageBreak(false, 0)
	f.AddUTF8FontFromBytes("regular", "", bytes.Clone(fonts.Regular.TTF))
	f.AddUTF8FontFromBytes("bold", "", bytes.Clone(fonts.Bold.TTF))
	f.AddPage()

	for text, font := range texts {
		f.SetFont(font, "", 9.5)
		f.Text(20, 100, text)
	}

	for i := range 13 {
		f.SetLineWidth(0.2)
		f.Line(20, float64(20+i), 190, float64(20+i))
	}

	options := gofpdf.ImageOptions{ImageType: "png"}
	f.RegisterImageOptionsReader("logo", options, bytes.NewReader(logo))
	f.ImageOptions("logo", 20, 20, 56, 14, false, options, 0, "")
	harness.Check(f.Output(&bytes.Buffer{}))
}

// drawFullFont draws with maroto's defaults: whole fonts, a logo with an alpha channel.
func drawFullFont(logo []byte) {
	m := maroto.New(config.NewBuilder().
		WithCompression(true).
		WithCustomFonts([]*entity.CustomFont{
			{Family: "regular", Style: fontstyle.Normal, Bytes: bytes.Clone(liberationsansregular.TTF)},
			{Family: "bold", Style: fontstyle.Normal, Bytes: bytes.Clone(liberationsansbold.TTF)},
		}).
		WithDefaultFont(&props.Font{Family: "regular", Size: 9.5}).
		Build())

	for line, font := range texts {
		m.AddRow(5, text.NewCol(12, line, props.Text{Family: font, Size: 9.5}))
	}
	m.AddRow(17, col.New(12).Add(marotoimage.NewFromBytes(logo, extension.Png)))
	harness.Must(m.Generate())
}

// pdfCold compares a cold render of the typical quote with both baselines.
func pdfCold(ctx context.Context, b *bench) {
	document, renderer := pdftest.Sample("ro", "typical"), pdf.New(zerolog.Nop())
	fonts, logo := harness.Must(font.Latin()), document.Company.Logo
	large := withAlpha(logo)

	var file []byte

	versus := func(draw func()) [2][]float64 {
		return inTurn(40*b.rounds, func(side int) float64 {
			began := time.Now()
			if side == 0 {
				draw()
			} else {
				file = harness.Must(renderer.Render(ctx, document))
			}
			return time.Since(began).Seconds() * 1000
		})
	}

	report("pdf-cold-vs-fpdf", "ms", "≤ 1.15", versus(func() { drawBare(fonts, logo) }))
	report("pdf-cold-vs-fullfont", "ms", "≤ 0.45", versus(func() { drawFullFont(large) }))
	report("pdf-size", "bytes", "< 60 KB", [2][]float64{{60_000}, {float64(len(file))}})
}
