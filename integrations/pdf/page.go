package pdf

import (
	"fmt"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/components/col"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/core"
)

// The page is A4 with a grid of one-millimetre columns, so the widths below are both
// grid sizes and millimetres.
const (
	pageHeight   = 297.0
	marginSide   = 20.0
	marginTop    = 17.0
	marginBottom = 13.0
	gridWidth    = 170 // between the side margins
	sideWidth    = 50  // the column of headings
	mainWidth    = gridWidth - sideWidth
	headHeight   = 18.0 // the running head of pages after the first
	footHeight   = 9.0  // the foot of each page
	clearance    = 4.0  // least white space above the foot
	bodyHeight   = pageHeight - marginTop - marginBottom - footHeight
)

// spare is left over for the filler that maroto puts at the end of a page, which it
// rounds down to 1e-9: without it a rounding error would begin an empty page.
const spare = 0.05 + 0.5e-9

// block is a strip of the page that is never split: one row of the grid, either with a
// side column and a main column or with one column over the full width.
type block struct {
	height  float64
	side    []core.Component
	main    []core.Component
	full    []core.Component // instead of side and main
	section string           // heading to repeat where a page begins inside the section
	keep    bool             // stays on one page with the block after it
	space   bool             // white space, left out at the top of a page
}

func (b *block) row() core.Row {
	if b.full != nil {
		return row.New(b.height).Add(col.New(gridWidth).Add(b.full...))
	}
	return row.New(b.height).Add(col.New(sideWidth).Add(b.side...), col.New(mainWidth).Add(b.main...))
}

// paginate distributes blocks over pages. Blocks that are to be kept together move to the
// next page together unless they need more than a page.
func paginate(blocks []block) [][]block {
	const height = bodyHeight - clearance
	var (
		pages [][]block
		room  = height
		now   []block
	)
	for len(blocks) > 0 {
		n, need := 1, blocks[0].height
		for blocks[n-1].keep && n < len(blocks) {
			need += blocks[n].height
			n++
		}
		if need > height-headHeight { // more than a page: split it
			n, need = 1, blocks[0].height
		}
		if need > room && len(now) > 0 {
			pages = append(pages, now)
			now, room = nil, height-headHeight
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

// layout uses as few pages as possible, and on them the most white space.
func (s *sheet) layout() [][]block {
	var best [][]block
	for _, spacing := range []spacing{roomy, dense, compact} {
		s.spacing = spacing
		if pages := paginate(s.blocks()); best == nil || len(pages) < len(best) {
			best = pages
		}
		if len(best) == 1 {
			break
		}
	}
	return best
}

// makePages makes maroto's pages: running head, body, white space and foot.
func (s *sheet) makePages() []core.Page {
	out := make([]core.Page, 0, len(s.pages))
	for i, part := range s.pages {
		var (
			rows []core.Row
			used float64
		)
		if i > 0 {
			rows = append(rows, s.runningHead())
			used += headHeight
			if first := &part[0]; first.full == nil && len(first.side) == 0 && first.section != "" {
				label := s.scale.label
				first.side = label.set(0, 0, label.wrap(first.section, sideWidth-6)...)
			}
		}
		for _, b := range part {
			rows = append(rows, b.row())
			used += b.height
		}
		if rest := bodyHeight - used - spare; rest > 0 {
			rows = append(rows, row.New(rest).Add(col.New(gridWidth)))
		}
		rows = append(rows, s.foot(i+1, len(s.pages)))
		out = append(out, page.New().Add(rows...))
	}
	return out
}

// runningHead names the document on pages after the first.
func (s *sheet) runningHead() core.Row {
	small := s.scale.small
	name := small.wrap(s.company, gridWidth/2-5)
	return row.New(headHeight).Add(
		col.New(gridWidth/2).Add(small.set(0, 0, name[:min(len(name), 1)]...)...),
		col.New(gridWidth/2).Add(small.right(0, s.words.title+" · "+s.reference)...),
	)
}

// foot closes a page with a rule, the sender and the page number.
func (s *sheet) foot(number, total int) core.Row {
	small := s.scale.small
	sender := strings.Trim(s.company+" · "+s.reference, " ·")
	left := small.wrap(sender, gridWidth-40)
	return row.New(footHeight).Add(
		col.New(gridWidth-35).Add(append(
			small.set(0, footHeight-small.leading, left[:min(len(left), 1)]...),
			bar(0, 0, gridWidth, 0.2, s.palette.rule),
		)...),
		col.New(35).Add(small.right(footHeight-small.leading, fmt.Sprintf(s.words.page, number, total))...),
	)
}
