package pdf

import (
	"fmt"

	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/core"
)

// block is a strip of the page that is never torn apart: one row of the grid, either
// with a column of headings and a main column or with one column over the full width.
type block struct {
	height  float64
	side    []core.Component
	main    []core.Component
	full    []core.Component // instead of the two
	section string           // its section's heading, repeated where a page begins inside the section
	keep    bool             // stays on one page with the block after it
	space   bool             // white space, left out at the top of a page
}

// paginate distributes blocks over pages of the given height, of which all but the first
// begin with a running head. Blocks that are to be kept together move on together
// unless they need more than a page.
func paginate(blocks []block, height, head float64) [][]block {
	var (
		pages [][]block
		room  = height
		now   []block
	)
	turn := func() {
		pages = append(pages, now)
		now, room = nil, height-head
	}
	for len(blocks) > 0 {
		n, need := 1, blocks[0].height
		for blocks[n-1].keep && n < len(blocks) {
			need += blocks[n].height
			n++
		}
		if need > height-head { // more than a page: torn wherever it must be
			n, need = 1, blocks[0].height
		}
		if need > room && len(now) > 0 {
			turn()
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

// layout lays the document out on as few pages as it takes: where a little less white
// space saves a page, there is less.
func (s *sheet) layout() [][]block {
	parts := paginate(s.blocks(), bodyHeight-clearance, headHeight)
	if len(parts) == 1 {
		return parts
	}
	s.tight = true
	if dense := paginate(s.blocks(), bodyHeight-clearance, headHeight); len(dense) < len(parts) {
		return dense
	}
	s.tight = false
	return parts
}

// pages makes maroto's pages: running head, body, white space and foot.
func (s *sheet) pages() []core.Page {
	parts := s.layout()
	out := make([]core.Page, 0, len(parts))
	for i, part := range parts {
		var (
			rows []core.Row
			used float64
		)
		if i > 0 {
			rows = append(rows, s.runningHead())
			used += headHeight
			if first := &part[0]; first.full == nil && len(first.side) == 0 && first.section != "" {
				label := s.scale.label
				first.side = label.set(0, 0, wrap(first.section, label.face, label.size, sideWidth-6)...)
			}
		}
		for _, b := range part {
			rows = append(rows, b.row())
			used += b.height
		}
		if rest := bodyHeight - used - spare; rest > 0 {
			rows = append(rows, row.New(rest).Add(col.New(gridWidth)))
		}
		rows = append(rows, s.foot(i+1, len(parts)))
		out = append(out, page.New().Add(rows...))
	}
	return out
}

func (b *block) row() core.Row {
	if b.full != nil {
		return row.New(b.height).Add(col.New(gridWidth).Add(b.full...))
	}
	return row.New(b.height).Add(
		col.New(sideWidth).Add(b.side...),
		col.New(mainWidth).Add(b.main...),
	)
}

// spare is what a page leaves over for the filler that the library puts at its end, in
// millimetres. The library rounds the filler down to 1e-9; the half step makes sure
// that this takes something away, else a rounding error would begin an empty page.
const spare = 0.05 + 0.5e-9

// clearance is the least white space above the foot, in millimetres.
const clearance = 4.0

// headHeight is the height of the running head of pages after the first.
const headHeight = 18.0

// runningHead says on later pages what document they belong to.
func (s *sheet) runningHead() core.Row {
	small := s.scale.small
	name := wrap(s.company.Name, small.face, small.size, gridWidth/2-5)
	return row.New(headHeight).Add(
		col.New(gridWidth/2).Add(small.set(0, 0, name[:min(len(name), 1)]...)...),
		col.New(gridWidth/2).Add(small.right(0, s.words.title+" · "+s.reference)...),
	)
}

// foot closes a page with a hairline, the sender and the page number.
func (s *sheet) foot(number, total int) core.Row {
	small := s.scale.small
	parts := s.company.Name
	if s.reference != "" {
		if parts != "" {
			parts += " · "
		}
		parts += s.reference
	}
	left := wrap(parts, small.face, small.size, gridWidth-40)
	return row.New(footHeight).Add(
		col.New(gridWidth-35).Add(append(
			small.set(0, footHeight-small.leading, left[:min(len(left), 1)]...),
			bar(0, 0, gridWidth, 0.2, s.palette.rule),
		)...),
		col.New(35).Add(small.right(footHeight-small.leading, fmt.Sprintf(s.words.page, number, total))...),
	)
}
