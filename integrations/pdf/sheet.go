package pdf

import (
	"slices"
	"strconv"

	"siteapi/integrations/pdf/font"
)

// sheet is one document being laid out.
type sheet struct {
	*Summary
	company string // the name, printable
	lines   []Line // the company's lines, printable
	family  *font.Family
	palette *palette
	scale   *typescale
	spacing spacing
	missing map[string]bool // Unicode scripts of letters that were replaced
	pages   [][]block
}

// spacing is the white space of a document, in millimeters.
type spacing struct {
	letterhead   float64 // minimum height of the letterhead
	above, below float64 // white space above and below the rule of a section
	row          float64 // white space between two rows of a section
}

// layOut tries these in turn and uses less white space only if it saves a page.
var (
	roomy   = spacing{letterhead: 34, above: 5.5, below: 5, row: 0.8}
	dense   = spacing{letterhead: 27, above: 4.2, below: 3.6, row: 0.8}
	compact = spacing{letterhead: 24, above: 3, below: 2.6, row: 0.2}
)

func (s *sheet) print(text string) string { return clean(text, s.family, s.missing) }

func (s *sheet) blocks() []block {
	intro := paragraphs(s.scale.body, 0, s.Intro)
	if n := len(intro); n > 0 {
		intro[n-1].height += 5 // white space above the price
	}
	next := s.next()
	next[len(next)-1].keep = true // The note never begins a page by itself.

	return slices.Concat(
		[]block{s.letterhead(), s.headline()},
		intro,
		[]block{s.price()},
		s.recipient(),
		s.list(s.Words.Project, s.scale.label, 38, s.Choices),
		s.features(),
		s.list(s.Words.Adjustments, s.scale.label, 0, s.Adjustments),
		next,
		s.section(s.Words.Note, paragraphs(s.scale.small, mainLeft, s.Terms)...),
	)
}

// section adds a rule above the first block of a section, and the heading to its left. A
// section without content is left out.
func (s *sheet) section(title string, body ...block) []block {
	if len(body) == 0 || body[0].items == nil {
		return nil
	}

	heading := s.scale.heading
	lines := heading.wrap(title, mainLeft-6)
	body[0].text(heading, 0, 0, lines...)
	body[0].height = max(body[0].height, heading.height(len(lines)))

	for i := range body {
		body[i].section, body[i].opens = title, i == 0
	}

	rule := block{height: s.spacing.below, keep: true}
	rule.bar(0, 0, textWidth, 0.2, s.palette.rule)
	return append([]block{{height: s.spacing.above, space: true, keep: true}, rule}, body...)
}

// letterhead shows the sender: the logo, or the name in large type, and the contact
// lines.
func (s *sheet) letterhead() block {
	if s.Company.Logo == nil && s.company == "" && len(s.lines) == 0 {
		return block{height: 6}
	}

	b := block{height: s.spacing.letterhead}
	small, name := s.scale.small, s.scale.name
	y := 0.0

	if logo := s.Company.Logo; logo != nil {
		name.size, name.leading = small.size, small.leading
		lines := name.wrap(s.company, mainWidth-20)
		b.logo(logo)
		b.right(name, y, lines...)
		y += name.height(len(lines))
	} else {
		name.size, name.leading = 15, 7
		lines := name.wrap(s.company, textWidth/2-5)
		b.text(name, 0, 0, lines...)
		b.height = max(b.height, name.height(len(lines))+12)
	}

	for _, line := range s.lines {
		for _, text := range small.wrap(line.Text, textWidth/2-5) {
			b.right(small, y, text)
			if line.Link != "" {
				b.link(small, textWidth-small.width(text), y, text, line.Link)
			}
			y += small.leading
		}
	}

	b.height = max(b.height, y+10)
	return b
}

func (s *sheet) headline() (b block) {
	title, label, body := s.scale.title, s.scale.label, s.scale.body
	b.bar(0, 0, 14, 1.3, s.palette.accent)
	b.text(title, 0, 4.5, s.Words.Title)

	y := 4.5 + title.leading + 2
	x := 0.0
	for _, row := range s.Head {
		b.text(label, x, y, row.Label)
		x += label.width(row.Label) + 2
		b.text(body, x, y, row.Value)
		x += body.width(row.Value) + 9
	}

	b.height = y + body.leading + 7
	return b
}

// price shows the range on a tinted panel, as the most prominent part of the document.
func (s *sheet) price() (b block) {
	const pad, stripe = 7.0, 1.3
	figure, heading, small := s.scale.figure, s.scale.heading, s.scale.small
	heading.color = s.palette.strong

	x, y := pad+stripe, pad-1.5
	limit := textWidth - pad - x
	figure.size = figure.fit(s.Range, 15, limit)
	lines := figure.wrap(s.Range, limit)
	guide := small.wrap(s.Guidance, limit)
	body, tax := s.scale.body, s.scale.body.height(len(s.Tax))
	panel := heading.leading + figure.height(len(lines)) + tax + small.height(len(guide)) + 2*pad - 0.5

	b.bar(0, 0, textWidth, panel, s.palette.tint)
	b.bar(0, 0, stripe, panel, s.palette.accent)

	b.text(heading, x, y, s.Words.Estimate)
	y += heading.leading + 1.5
	b.text(figure, x-0.3, y, lines...)
	y += figure.height(len(lines)) + 1

	for _, row := range s.Tax {
		b.text(body, x, y, row.Label)
		b.text(body, textWidth-pad-body.width(row.Value), y, row.Value)
		y += body.leading
	}
	b.text(small, x, y, guide...)
	b.height = panel + 2
	return b
}

func (s *sheet) recipient() []block {
	var b block
	for i, text := range s.Recipient {
		style := s.scale.label
		switch {
		case i == 0:
			style = s.scale.name
		case i == 1 && s.Lead.Contact.Company != "":
			style = s.scale.body
		}
		lines := style.wrap(text, mainWidth)
		b.text(style, mainLeft, b.height, lines...)
		b.height += style.height(len(lines))
	}
	return s.section(s.Words.PreparedFor, b)
}

// list is a section with a line for each row, whose value is indented to leave room for
// labels.
func (s *sheet) list(title string, labels style, indent float64, rows []Row) []block {
	body := s.scale.body
	var b block
	for _, row := range rows {
		lines := body.wrap(row.Value, mainWidth-indent-s.room(row.Amount))
		b.text(labels, mainLeft, b.height, row.Label)
		b.text(body, mainLeft+indent, b.height, lines...)
		b.text(body, textWidth-body.width(row.Amount), b.height, row.Amount)
		b.height += body.height(len(lines)) + s.spacing.row
	}
	return s.section(title, b)
}

// room returns the width of an amount at the end of a row.
func (s *sheet) room(amount string) float64 {
	if amount == "" {
		return 0
	}
	return s.scale.body.width(amount) + 4
}

// features lists the chosen features with their amounts: in two columns, row by row, or below
// the heading over the whole width if one of them would take more than two lines.
func (s *sheet) features() []block {
	const gutter, indent = 6.0, 4.0
	body := s.scale.body
	columns, left, column, top := 2, mainLeft, (mainWidth-gutter)/2, 0.0
	for _, row := range s.Features {
		if columns == 2 && len(body.wrap(row.Value, column-indent-s.room(row.Amount))) > 2 {
			columns, left, column, top = 1, 0, textWidth, s.scale.heading.leading+s.spacing.row
		}
	}

	var rows []block
	for i := 0; i < len(s.Features); i += columns {
		b := block{wide: columns == 1}
		for j := i; j < min(i+columns, len(s.Features)); j++ {
			x := left + float64(j-i)*(column+gutter)
			amount := s.Features[j].Amount
			lines := body.wrap(s.Features[j].Value, column-indent-s.room(amount))
			b.bar(x, top+(body.leading-1.3)/2, 1.3, 1.3, s.palette.accent)
			b.text(body, x+indent, top, lines...)
			b.text(body, x+column-body.width(amount), top, amount)
			b.height = max(b.height, top+body.height(len(lines))+s.spacing.row)
		}
		rows = append(rows, b)
		if columns == 1 {
			top = 0 // The heading is above the first row only.
		}
	}

	// A single row is left neither below the heading nor at the top of the next page.
	if n := len(rows); n > 1 {
		rows[0].keep, rows[n-2].keep = true, true
	}
	return s.section(s.Words.Features, rows...)
}

func (s *sheet) next() []block {
	numbers := s.scale.heading
	numbers.color = s.palette.strong

	var steps []Row
	for i, step := range s.Words.Steps {
		steps = append(steps, Row{Label: strconv.Itoa(i + 1), Value: step})
	}
	return s.list(s.Words.Next, numbers, 6, steps)
}

// paragraphs returns a block for each line of text to the right of a position, so that
// any line can begin a page.
func paragraphs(of style, left float64, texts []string) (blocks []block) {
	for i, text := range texts {
		if i > 0 {
			blocks[len(blocks)-1].height += of.leading / 2
		}
		for _, line := range of.wrap(text, textWidth-left) {
			b := block{height: of.leading}
			b.text(of, left, 0.4, line)
			blocks = append(blocks, b)
		}
	}
	return blocks
}
