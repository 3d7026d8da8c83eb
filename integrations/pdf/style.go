package pdf

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/johnfercher/go-tree/node"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"siteapi/integrations/pdf/font"
)

// The names that the faces are registered under.
const (
	regularFamily = "LiberationSans"
	boldFamily    = "LiberationSansBold"
)

const mmPerPt = 25.4 / 72 // millimetres of a typographic point

// style is how a text is set.
type style struct {
	face    *font.Face
	family  string       // the face's registered name
	size    float64      // in points
	leading float64      // from line to line, in millimetres
	colour  *props.Color //
}

// typescale is the styles of a document.
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

// height returns the height of n lines in millimetres.
func (s style) height(n int) float64 { return float64(n) * s.leading }

// width returns the width of text in millimetres.
func (s style) width(text string) float64 {
	return float64(s.face.Width(text)) * s.size * mmPerPt / 1000
}

// set places lines below each other, beginning at x and y of the column in millimetres.
func (s style) set(x, y float64, lines ...string) []core.Component {
	out := make([]core.Component, 0, len(lines))
	for i, line := range lines {
		out = append(out, text.New(line, s.props(x, y+s.height(i))))
	}
	return out
}

// right places lines like set, ending at the column's right edge.
func (s style) right(y float64, lines ...string) []core.Component {
	out := make([]core.Component, 0, len(lines))
	for i, line := range lines {
		p := s.props(0, y+s.height(i))
		p.Align = align.Right
		out = append(out, text.New(line, p))
	}
	return out
}

// link covers a line set with the same properties with a link. maroto paints linked
// text blue, so the link is a line of blanks of the same width.
func (s style) link(line, address string, p props.Text) core.Component {
	p.Hyperlink = &address
	blanks := int(math.Ceil(s.width(line) / s.width(nbsp)))
	return text.New(strings.Repeat(nbsp, blanks), p)
}

// props centres the capitals of a line in its box. maroto's Top is the baseline minus
// the type size.
func (s style) props(x, y float64) props.Text {
	const capital = 0.72 // height of capitals as a share of the type size
	size := s.size * mmPerPt
	return props.Text{
		Family: s.family, Size: s.size, Color: s.colour,
		Left: x, Top: max(0, y+(s.leading+capital*size)/2-size),
	}
}

// slack keeps a line from being exactly as wide as its column, where maroto's own
// rounding could wrap it, in millimetres.
const slack = 0.01

// fit returns the largest size from the style's own down to least, in points, at which
// text is no wider than limit millimetres; least where none is.
func (s style) fit(text string, least, limit float64) float64 {
	size := s.size
	if w := s.width(text); w > limit-slack {
		size *= (limit - slack) / w
	}
	return max(size, least)
}

// wrap breaks text into lines no wider than limit millimetres: between words, and inside
// a word only where it is wider than a line.
func (s style) wrap(text string, limit float64) []string {
	limit -= slack
	var (
		lines []string
		line  string
	)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' }) {
		longer := word
		if line != "" {
			longer = line + " " + word
		}
		if s.width(longer) <= limit {
			line = longer
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := s.split(word, limit)
		lines = append(lines, pieces[:len(pieces)-1]...)
		line = pieces[len(pieces)-1]
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split cuts a word into pieces that fit: behind a joint such as "-" or "@" in the later
// half of a piece, else between any two letters.
func (s style) split(word string, limit float64) []string {
	var pieces []string
	for s.width(word) > limit {
		end, joint := 0, 0
		for i, r := range word {
			next := i + utf8.RuneLen(r)
			if s.width(word[:next]) > limit && i > 0 {
				break
			}
			end = next
			if strings.ContainsRune("-_/@.,;:·–—", r) {
				joint = next
			}
		}
		if joint > end/2 {
			end = joint
		}
		pieces = append(pieces, word[:end])
		word = word[end:]
	}
	if word != "" {
		pieces = append(pieces, word)
	}
	return pieces
}

// shape is a component with a fixed place in its column that draws itself.
type shape struct {
	x, y, w, h float64 // in millimetres
	draw       func(provider core.Provider, box *entity.Cell)
}

// bar is a filled rectangle: rules, marks and panels.
func bar(x, y, w, h float64, colour *props.Color) core.Component {
	line := &props.Line{Color: colour, Style: linestyle.Solid, Thickness: h, SizePercent: 100}
	return &shape{x: x, y: y, w: w, h: h, draw: func(provider core.Provider, box *entity.Cell) {
		box.Y += box.Height / 2 // a line as thick as the bar is high, along its middle
		provider.AddLine(box, line)
	}}
}

// picture is a logo at the column's top left corner.
func picture(l *Logo) core.Component {
	return &shape{w: l.width, h: l.height, draw: func(provider core.Provider, box *entity.Cell) {
		provider.AddImageFromBytes(l.data, box, &props.Rect{Percent: 100}, l.format)
	}}
}

// Render draws the shape in a cell.
func (s *shape) Render(provider core.Provider, cell *entity.Cell) {
	s.draw(provider, &entity.Cell{X: cell.X + s.x, Y: cell.Y + s.y, Width: s.w, Height: s.h})
}

// GetHeight returns how far down the shape reaches, in millimetres.
func (s *shape) GetHeight(core.Provider, *entity.Cell) float64 { return s.y + s.h }

// SetConfig does nothing: a shape has no defaults to take over.
func (s *shape) SetConfig(*entity.Config) {}

// GetStructure describes the shape for maroto's structure dump.
func (s *shape) GetStructure() *node.Node[core.Structure] {
	return node.New(core.Structure{Type: "shape"})
}
