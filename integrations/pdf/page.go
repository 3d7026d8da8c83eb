package pdf

import (
	"fmt"
	"strings"

	"github.com/phpdave11/gofpdf"

	"siteapi/integrations/pdf/font"
)

// The dimensions of the A4 page, in millimeters.
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
	space   bool   // white space, omitted at the top of pages after the first
}

// item draws a part of a block. top is the distance of the block's top edge from that of
// the page.
type item func(p *gofpdf.Fpdf, top float64)

// text places lines one below the other, starting at position x, y of the block. The
// capitals of a line are centered in its height.
func (b *block) text(s style, x, y float64, lines ...string) {
	const capital = 0.72 // height of capitals as a share of the type size
	y += (s.leading + capital*s.size*mmPerPt) / 2

	b.items = append(b.items, func(p *gofpdf.Fpdf, top float64) {
		p.SetFont(s.family, "", s.size)
		p.SetTextColor(s.color.red, s.color.green, s.color.blue)
		for i, line := range lines {
			p.Text(marginSide+x, top+y+s.height(i), line)
		}
	})
}

// right places lines one below the other, aligned with the block's right edge.
func (b *block) right(s style, y float64, lines ...string) {
	for i, line := range lines {
		b.text(s, textWidth-s.width(line), y+s.height(i), line)
	}
}

// link makes the line at position x, y a link.
func (b *block) link(s style, x, y float64, line, address string) {
	b.items = append(b.items, func(p *gofpdf.Fpdf, top float64) {
		p.LinkString(marginSide+x, top+y, s.width(line), s.leading, address)
	})
}

// bar fills a rectangle, such as a rule, a mark or a panel.
func (b *block) bar(x, y, w, h float64, c rgb) {
	b.items = append(b.items, func(p *gofpdf.Fpdf, top float64) {
		p.SetFillColor(c.red, c.green, c.blue)
		p.Rect(marginSide+x, top+y, w, h, "F")
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
func layOut(d *Document, family func() (*font.Family, error)) (*sheet, error) {
	f, err := family()
	if err != nil {
		return nil, err
	}

	p := newPalette(d.Company)
	s := &sheet{
		family:  f,
		palette: p,
		scale:   newTypescale(f, p),
		missing: map[string]bool{},
	}
	if s.Summary, err = Summarize(d, s.print, f.Has); err != nil {
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

// page draws a page.
func (s *sheet) page(p *gofpdf.Fpdf, index int, body []block) {
	p.AddPage()
	y := marginTop
	if index > 0 {
		s.runningHead(body[0]).draw(p, y)
		y += headHeight
	}
	for _, b := range body {
		b.draw(p, y)
		y += b.height
	}
	s.foot(index+1).draw(p, pageHeight-marginBottom-footHeight)
}

func (b block) draw(p *gofpdf.Fpdf, top float64) {
	for _, draw := range b.items {
		draw(p, top)
	}
}

// runningHead names the document on pages after the first, and the section that continues
// from the previous page.
func (s *sheet) runningHead(first block) (b block) {
	small, label := s.scale.small, s.scale.label
	name := small.wrap(s.company, textWidth/2-5)
	b.text(small, 0, 0, name[:min(len(name), 1)]...)
	b.right(small, 0, s.Words.Title+" · "+s.Reference)
	if !first.opens {
		b.text(label, 0, headHeight, label.wrap(first.section, mainLeft-6)...)
	}
	return b
}

func (s *sheet) foot(number int) (b block) {
	small := s.scale.small
	sender := small.wrap(strings.Trim(s.company+" · "+s.Reference, " ·"), textWidth-40)
	b.bar(0, 0, textWidth, 0.2, s.palette.rule)
	b.text(small, 0, footHeight-small.leading, sender[:min(len(sender), 1)]...)
	b.right(small, footHeight-small.leading, fmt.Sprintf(s.Words.Page, number, len(s.pages)))
	return b
}
