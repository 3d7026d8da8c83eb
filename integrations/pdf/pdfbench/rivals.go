package pdfbench

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/col"
	marotoimage "github.com/johnfercher/maroto/v2/pkg/components/image"
	"github.com/johnfercher/maroto/v2/pkg/components/line"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"
	"golang.org/x/image/draw"

	"siteapi/integrations/pdf"
	"siteapi/integrations/pdf/boxes"
	"siteapi/integrations/pdf/font"
)

const mmPerPt = 25.4 / 72

// Bench draws one document in three ways. Each way draws it cold: from nothing but
// the prepared fonts and logo.
type Bench struct {
	doc      pdf.Document
	renderer *pdf.Renderer
	pages    []boxes.Page
	family   *font.Family
	full     [2][]byte // regular and bold, uncut
	flat     []byte    // the logo, opaque PNG or JPEG
	alpha    []byte    // the logo with an alpha channel, as the CMS's image pipeline sends it
}

// New prepares a bench for the typical document.
func New(ctx context.Context) (*Bench, error) {
	b := &Bench{doc: Sample("ro", "typical")}
	loader, err := pdf.NewLogoLoader(pdf.LogoOptions{})
	if err != nil {
		return nil, err
	}
	if b.flat, err = loader.Load(ctx, "data:image/svg+xml,"+escapeData(Logo)); err != nil {
		return nil, err
	}
	b.doc.Company.Logo = b.flat
	if b.alpha, err = withAlpha(b.flat, 900); err != nil {
		return nil, err
	}
	if b.renderer, err = pdf.New(pdf.Options{}); err != nil {
		return nil, err
	}
	if b.family, err = font.Latin(); err != nil {
		return nil, err
	}
	b.full[0], b.full[1] = font.Full()
	file, err := b.Cold(ctx)
	if err != nil {
		return nil, err
	}
	if b.pages, err = boxes.Read(file); err != nil {
		return nil, fmt.Errorf("reading the page back: %w", err)
	}
	return b, nil
}

// Cold renders the document as the service does.
func (b *Bench) Cold(ctx context.Context) ([]byte, error) { return b.renderer.Render(ctx, b.doc) }

// Bare draws the same marks at the same places with the PDF library underneath and
// nothing else, with the same cut fonts and the same flattened logo.
func (b *Bench) Bare() ([]byte, error) {
	f := gofpdf.New("P", "mm", "A4", "")
	f.SetAutoPageBreak(false, 0)
	f.SetTitle("Quote", true)
	f.SetAuthor(b.doc.Company.Name, true)
	f.SetCreationDate(b.doc.CreatedAt)
	f.SetModificationDate(b.doc.CreatedAt)
	f.AddUTF8FontFromBytes("regular", "", b.family.Regular.TTF)
	f.AddUTF8FontFromBytes("bold", "", b.family.Bold.TTF)
	for _, page := range b.pages {
		f.AddPage()
		for _, m := range page {
			switch m.Kind {
			case boxes.Text:
				f.SetFont(weight(m), "", m.Size)
				f.SetTextColor(m.Colour[0], m.Colour[1], m.Colour[2])
				f.Text(m.X, m.Y, m.Text)
			case boxes.Bar:
				f.SetDrawColor(m.Colour[0], m.Colour[1], m.Colour[2])
				f.SetLineWidth(m.H)
				f.Line(m.X, m.Y+m.H/2, m.X+m.W, m.Y+m.H/2)
			case boxes.Picture:
				options := gofpdf.ImageOptions{ImageType: "png"}
				f.RegisterImageOptionsReader("logo", options, bytes.NewReader(b.flat))
				f.ImageOptions("logo", m.X, m.Y, m.W, m.H, false, options, 0, "")
			}
		}
	}
	var out bytes.Buffer
	if err := f.Output(&out); err != nil {
		return nil, fmt.Errorf("drawing with the bare library: %w", err)
	}
	return out.Bytes(), nil
}

// FullFont draws the same texts and bars at the same places with maroto as it comes:
// the fonts uncut, the logo with an alpha channel.
func (b *Bench) FullFont() ([]byte, error) {
	cfg := config.NewBuilder().
		WithLeftMargin(0).WithRightMargin(0).WithTopMargin(0).WithBottomMargin(0).
		WithCompression(true).
		WithTitle("Quote", true).WithAuthor(b.doc.Company.Name, true).WithCreationDate(b.doc.CreatedAt).
		WithCustomFonts([]*entity.CustomFont{
			{Family: "regular", Style: fontstyle.Normal, Bytes: b.full[0]},
			{Family: "bold", Style: fontstyle.Normal, Bytes: b.full[1]},
		}).
		WithDefaultFont(&props.Font{Family: "regular", Size: 10}).
		Build()
	m := maroto.New(cfg)
	for _, page := range b.pages {
		c := col.New(12)
		for _, mark := range page {
			c.Add(b.component(mark))
		}
		m.AddRows(row.New(296.9).Add(c))
	}
	doc, err := m.Generate()
	if err != nil {
		return nil, fmt.Errorf("drawing with the full fonts: %w", err)
	}
	return doc.GetBytes(), nil
}

func (b *Bench) component(m boxes.Mark) core.Component {
	colour := &props.Color{Red: m.Colour[0], Green: m.Colour[1], Blue: m.Colour[2]}
	switch m.Kind {
	case boxes.Text:
		return text.New(m.Text, props.Text{Family: weight(m), Size: m.Size, Left: m.X, Top: m.Y - m.Size*mmPerPt, Color: colour})
	case boxes.Bar:
		return line.New(props.Line{Color: colour, Thickness: m.H, SizePercent: m.W / 2.1, OffsetPercent: (m.Y + m.H/2) / 2.97})
	default:
		return marotoimage.NewFromBytes(b.alpha, extension.Png, props.Rect{Left: m.X, Top: m.Y, Percent: m.W / 2.1, JustReferenceWidth: true})
	}
}

func weight(m boxes.Mark) string {
	if m.Bold {
		return "bold"
	}
	return "regular"
}

// withAlpha makes of a logo what an image pipeline sends of a transparent one: a PNG of
// the given width in pixels with an alpha channel, in which white is transparent.
func withAlpha(flat []byte, width int) ([]byte, error) {
	src, _, err := image.Decode(bytes.NewReader(flat))
	if err != nil {
		return nil, fmt.Errorf("reading the logo: %w", err)
	}
	height := width * src.Bounds().Dy() / src.Bounds().Dx()
	scaled := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.CatmullRom.Scale(scaled, scaled.Bounds(), src, src.Bounds(), draw.Src, nil)
	out := image.NewNRGBA(scaled.Bounds())
	for y := range height {
		for x := range width {
			c := scaled.RGBAAt(x, y)
			alpha := min(255, 2*(255-int(min(c.R, c.G, c.B))))
			out.SetNRGBA(x, y, color.NRGBA{R: c.R, G: c.G, B: c.B, A: uint8(alpha)})
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, out); err != nil {
		return nil, fmt.Errorf("writing the logo: %w", err)
	}
	return buf.Bytes(), nil
}
