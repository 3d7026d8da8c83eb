package pdf

import (
	"fmt"
	"math"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/consts/linestyle"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"

	"siteapi/integrations/pdf/font"
)

// The dimensions of the page, which is A4 by default, in millimeters.
const (
	pageHeight   = 297.0
	marginSide   = 20.0
	marginTop    = 17.0
	marginBottom = 13.0
	textWidth    = 170.0 // between the side margins
	mainLeft     = 50.0  // left edge of the main column, to the right of the headings
	mainWidth    = textWidth - mainLeft
	headHeight   = 18.0 // running head of pages after the first
	footHeight   = 9.0  // foot of each page
	clearance    = 4.0  // minimum white space above the foot
	bodyHeight   = pageHeight - marginTop - marginBottom - footHeight - clearance
)

// block is a strip of the page that is never split.
type block struct {
	height float64
	items  []item

	section string // heading to repeat if a page begins inside the section
	opens   bool   // first block of its section, with the heading
	keep    bool   // stays on the same page as the next block
	wide    bool   // begins at the left margin, below a heading
	space   bool   // white space, omitted at the top of pages after the first
}

// item draws a part of a block. top is the height of the block's top edge on the page.
type item func(p core.Provider, top float64)

// text places lines one below the other, starting at position x, y of the block.
func (b *block) text(s style, x, y float64, lines ...string) {
	for i, line := range lines {
		if line != "" {
			b.line(s, x, y+s.height(i), line, nil)
		}
	}
}

// right places lines one below the other, aligned with the block's right edge.
func (b *block) right(s style, y float64, lines ...string) {
	for i, line := range lines {
		b.text(s, textWidth-s.width(line), y+s.height(i), line)
	}
}

// link makes the line at position x, y a link. maroto paints linked text blue, so the
// link is a line of blanks on top of the text.
func (b *block) link(s style, x, y float64, line, address string) {
	blanks := int(math.Ceil(s.width(line) / s.width(nbsp)))
	b.line(s, x, y, strings.Repeat(nbsp, blanks), &address)
}

// line places one line of text, centring its capitals in the line height.
func (b *block) line(s style, x, y float64, line string, link *string) {
	const capital = 0.72 // height of capitals as a share of the type size
	size := s.size * mmPerPt
	y += (s.leading+capital*size)/2 - size

	b.items = append(b.items, func(p core.Provider, top float64) {
		// The cell is wide enough that maroto does not wrap the line.
		room := &entity.Cell{X: x, Y: top + y, Width: 1000, Height: 1000}
		p.AddText(line, room, &props.Text{
			Family:    s.family,
			Size:      s.size,
			Color:     &s.color,
			Align:     align.Left,
			Hyperlink: link,
		})
	})
}

// bar fills a rectangle, such as a rule, a mark or a panel.
func (b *block) bar(x, y, w, h float64, c props.Color) {
	line := &props.Line{Color: &c, Style: linestyle.Solid, Thickness: h, SizePercent: 100}
	b.items = append(b.items, func(p core.Provider, top float64) {
		p.AddLine(&entity.Cell{X: x, Y: top + y + h/2, Width: w}, line)
	})
}

// paginate distributes blocks over pages. Blocks with keep set stay together with the
// block after them, unless the group is larger than a page.
func paginate(blocks []block) [][]block {
	var (
		pages [][]block
		room  = bodyHeight
		now   []block
	)

	for len(blocks) > 0 {
		n, need := 1, blocks[0].height
		for blocks[n-1].keep && n < len(blocks) {
			need += blocks[n].height
			n++
		}
		if need > bodyHeight-headHeight { // A group larger than a page has to be split.
			n, need = 1, blocks[0].height
		}

		if need > room && len(now) > 0 {
			pages = append(pages, now)
			now, room = nil, bodyHeight-headHeight
		}

		for _, b := range blocks[:n] {
			if b.space && len(now) == 0 && len(pages) > 0 {
				continue
			}
			now = append(now, b)
			room -= b.height
		}

		blocks = blocks[n:]
	}
	return append(pages, now)
}

// layOut lays out a document in a font family, on as few pages as possible and with the
// widest spacing that fits on them.
func layOut(d *Document, family *font.Family) (s *sheet, err error) {
	p := newPalette(d.Company)
	s = &sheet{
		family:  family,
		palette: p,
		scale:   newTypescale(family, p),
		missing: map[string]bool{},
	}
	if s.Summary, err = Summarize(d, s.print, family.Has); err != nil {
		return nil, err
	}

	s.company = s.print(short(d.Company.Name))
	for _, line := range d.Company.Lines {
		s.lines = append(s.lines, Line{Text: s.print(short(line.Text)), Link: line.Link})
	}

	for _, spacing := range []spacing{roomy, dense, compact} {
		s.spacing = spacing
		if pages := paginate(s.blocks()); s.pages == nil || len(pages) < len(s.pages) {
			s.pages = pages
		}
		if len(s.pages) == 1 {
			break
		}
	}
	return s, nil
}

// drawing is the only component of a page. It draws with a function.
type drawing struct {
	core.Component // an empty text, for the methods that don't draw
	draw           func(core.Provider)
}

// Render implements [core.Component].
func (d drawing) Render(p core.Provider, _ *entity.Cell) { d.draw(p) }

// page draws a whole page in one maroto row. With a row for each block, the way gofpdf
// sums heights would add an empty page to some documents. maroto's own header and footer
// are the same on every page, but here the first page has no head, and the heads of the
// others name the section that continues there.
func (s *sheet) page(index int, body []block) core.Page {
	draw := func(p core.Provider) {
		y := 0.0
		if index > 0 {
			s.runningHead(body[0]).draw(p, y)
			y += headHeight
		}
		for _, b := range body {
			b.draw(p, y)
			y += b.height
		}

		s.foot(index+1).draw(p, pageHeight-marginTop-marginBottom-footHeight)
	}

	return page.New().Add(row.New(1).Add(col.New().Add(drawing{text.New(""), draw})))
}

func (b block) draw(p core.Provider, top float64) {
	for _, draw := range b.items {
		draw(p, top)
	}
}

// runningHead names the document on pages after the first, and the section that continues
// from the previous page.
func (s *sheet) runningHead(first block) (b block) {
	small, label := s.scale.small, s.scale.label
	if s.company != "" {
		b.text(small, 0, 0, small.cut(s.company, textWidth/2-5))
	}
	b.right(small, 0, s.Words.Title+" · "+s.Reference)
	if !first.opens {
		y := headHeight
		if first.wide {
			y -= label.leading + 1
		}
		b.text(label, 0, y, label.wrap(first.section, mainLeft-6)...)
	}
	return b
}

func (s *sheet) foot(number int) (b block) {
	small := s.scale.small
	sender := s.Reference
	if s.company != "" {
		reference := " · " + s.Reference
		sender = small.cut(s.company, textWidth-40-small.width(reference)) + reference
	}
	b.bar(0, 0, textWidth, 0.2, s.palette.rule)
	b.text(small, 0, footHeight-small.leading, sender)
	b.right(small, footHeight-small.leading, fmt.Sprintf(s.Words.Page, number, len(s.pages)))
	return b
}
