package main

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/phpdave11/gofpdf"
	"github.com/rs/zerolog"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/font"
	"siteapi/integrations/pdf/pdftest"
)

// page is the content that the baseline draws. It has as many texts as the typical quote,
// in the same fonts.
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

// drawBare draws a similar page, with as many lines and a logo, with only the PDF
// library.
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

// pdfCold compares rendering the typical quote without a cache with only the PDF library.
func pdfCold(ctx context.Context, b *bench) {
	document, renderer := pdftest.Sample("ro", "typical"), pdf.New(zerolog.Nop())
	fonts := harness.Must(font.Cut())

	var file []byte
	report("pdf-cold-vs-fpdf", "ms", "≤ 1.15", inTurn(40*b.rounds, func(side int) float64 {
		began := time.Now()
		if side == 0 {
			drawBare(fonts, document.Company.Logo)
		} else {
			file = harness.Must(renderer.Render(ctx, document))
		}
		return time.Since(began).Seconds() * 1000
	}))

	report("pdf-size", "bytes", "< 60 KB", [2][]float64{{60_000}, {float64(len(file))}})
}
