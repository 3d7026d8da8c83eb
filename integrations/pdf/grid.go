package pdf

import (
	"math"

	"github.com/johnfercher/go-tree/node"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"siteapi/integrations/pdf/font"
)

// The page is A4 with a grid of columns of one millimetre, so that the widths below
// are both grid sizes and millimetres.
const (
	pageHeight   = 297.0
	marginSide   = 20.0
	marginTop    = 17.0
	marginBottom = 13.0
	gridWidth    = 170 // between the side margins
	sideWidth    = 50  // the column of headings
	mainWidth    = gridWidth - sideWidth
	footHeight   = 9.0 // the foot of each page
	bodyHeight   = pageHeight - marginTop - marginBottom - footHeight
)

// style is how a text is set.
type style struct {
	face    *font.Face
	family  string       // the face's name in the document
	size    float64      // in points
	leading float64      // from line to line, in millimetres
	colour  *props.Color //
}

// The names that the faces are registered under. The PDF library makes names of its
// own out of them, which the finisher replaces.
const (
	regularFamily = "quote-regular"
	boldFamily    = "quote-bold"
)

// typescale is the sizes of a document's texts.
type typescale struct {
	title, figure, name, heading, body, label, small style
}

func newTypescale(family *font.Family, p *palette) *typescale {
	regular := func(size, leading float64, c *props.Color) style {
		return style{face: family.Regular, family: regularFamily, size: size, leading: leading, colour: c}
	}
	bold := func(size, leading float64, c *props.Color) style {
		return style{face: family.Bold, family: boldFamily, size: size, leading: leading, colour: c}
	}
	return &typescale{
		title:   bold(26, 11, p.ink),
		figure:  bold(25, 11, p.ink),
		name:    bold(11.5, 5.6, p.ink),
		heading: bold(9.5, 5, p.ink),
		body:    regular(9.5, 5, p.ink),
		label:   regular(9.5, 5, p.muted),
		small:   regular(8, 4.2, p.muted),
	}
}

// set places lines below each other, the first one's box beginning at x and y in the
// column, in millimetres.
func (s style) set(x, y float64, lines ...string) []core.Component {
	out := make([]core.Component, 0, len(lines))
	for i, line := range lines {
		out = append(out, text.New(visual(line), s.props(x, y+float64(i)*s.leading)))
	}
	return out
}

// right places lines like set, ending at the column's right edge.
func (s style) right(y float64, lines ...string) []core.Component {
	out := make([]core.Component, 0, len(lines))
	for i, line := range lines {
		p := s.props(0, y+float64(i)*s.leading)
		p.Align = align.Right
		out = append(out, text.New(visual(line), p))
	}
	return out
}

// props puts the capitals of a line in the middle of its box. The library's Top is
// where the type's body begins: the baseline minus the type size.
func (s style) props(x, y float64) props.Text {
	const capital = 0.72 // height of capitals as a share of the type size
	size := s.size * mmPerPt
	return props.Text{
		Family: s.family,
		Size:   s.size,
		Color:  s.colour,
		Left:   x,
		Top:    max(0, y+(s.leading+capital*size)/2-size),
	}
}

// height returns the height of n lines.
func (s style) height(n int) float64 { return float64(n) * s.leading }

// shape is a component of a fixed place in its column that draws itself.
type shape struct {
	x, y, w, h float64 // in millimetres
	kind       string
	draw       func(provider core.Provider, box *entity.Cell)
}

// bar is a filled rectangle: hairlines, marks and panels.
func bar(x, y, w, h float64, colour *props.Color) core.Component {
	line := &props.Line{Color: colour, Style: linestyle.Solid, Thickness: h, SizePercent: 100}
	return &shape{x: x, y: y, w: w, h: h, kind: "bar", draw: func(provider core.Provider, box *entity.Cell) {
		// A line as thick as the bar is high, along its middle.
		box.Y += box.Height / 2
		provider.AddLine(box, line)
	}}
}

// picture is an opaque image that fills its box.
func picture(l *logo) core.Component {
	return &shape{w: l.w, h: l.h, kind: "picture", draw: func(provider core.Provider, box *entity.Cell) {
		provider.AddImageFromBytes(l.data, box, &props.Rect{Percent: 100}, l.kind)
	}}
}

// Render draws the shape in a cell.
func (s *shape) Render(provider core.Provider, cell *entity.Cell) {
	s.draw(provider, &entity.Cell{X: cell.X + s.x, Y: cell.Y + s.y, Width: s.w, Height: s.h})
}

// GetHeight returns how far down the shape reaches, in millimetres.
func (s *shape) GetHeight(core.Provider, *entity.Cell) float64 { return s.y + s.h }

// SetConfig has nothing to set: a shape brings all it needs.
func (s *shape) SetConfig(*entity.Config) {}

// GetStructure describes the shape for the library's structure dump.
func (s *shape) GetStructure() *node.Node[core.Structure] {
	round := func(v float64) float64 { return math.Round(v*100) / 100 }
	return node.New(core.Structure{Type: s.kind, Details: map[string]any{
		"x": round(s.x), "y": round(s.y), "w": round(s.w), "h": round(s.h),
	}})
}
