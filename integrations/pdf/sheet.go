package pdf

import (
	"strconv"

	"github.com/johnfercher/maroto/v2/pkg/consts/align"
	"github.com/johnfercher/maroto/v2/pkg/core"

	"siteapi/integrations/pdf/font"
)

// sheet is one document being laid out.
type sheet struct {
	doc       *Document
	company   string // the name, printable
	lines     []Line // the company's lines, printable
	reference string
	words     *words
	family    *font.Family
	palette   *palette
	scale     *typescale
	spacing   spacing
	missing   map[string]bool // Unicode scripts of letters that were replaced
	pages     [][]block
}

// newSheet prepares a document: language, fonts, colours and printable company texts.
func newSheet(d *Document, family *font.Family, p *palette) *sheet {
	s := &sheet{
		doc: d, reference: Reference(d.Submission.ID), words: wordsIn(d.Locale),
		family: family, palette: p, scale: newTypescale(family, p), missing: map[string]bool{},
	}
	s.company = s.print(d.Company.Name)
	for _, line := range d.Company.Lines {
		if text := s.print(line.Text); text != "" {
			s.lines = append(s.lines, Line{Text: text, Link: line.Link})
		}
	}
	return s
}

// spacing is the white space of a document, in millimetres.
type spacing struct {
	letterhead   float64 // least height
	above, below float64 // of a section's rule
	row          float64 // between two rows of a section
}

// Less white space is used where it saves a page.
var (
	roomy   = spacing{letterhead: 34, above: 5.5, below: 5, row: 0.8}
	dense   = spacing{letterhead: 27, above: 4.2, below: 3.6, row: 0.8}
	compact = spacing{letterhead: 24, above: 3, below: 2.6, row: 0.2}
)

// print makes a text from outside printable.
func (s *sheet) print(text string) string { return clean(text, s.family, s.missing) }

// blocks lays the whole document out, top to bottom.
func (s *sheet) blocks() []block {
	var out []block
	out = append(out, s.letterhead(), s.headline(), s.price())
	out = append(out, s.recipient()...)
	out = append(out, s.project()...)
	out = append(out, s.features()...)
	next := s.next()
	next[len(next)-1].keep = true // the note does not begin a page by itself
	out = append(out, next...)
	return append(out, s.note()...)
}

// section puts a rule above the first block of a section and the heading beside it.
func (s *sheet) section(title string, body ...block) []block {
	if len(body) == 0 {
		return nil
	}
	heading := s.scale.heading
	lines := heading.wrap(title, sideWidth-6)
	body[0].side = append(body[0].side, heading.set(0, 0, lines...)...)
	body[0].height = max(body[0].height, heading.height(len(lines)))
	for i := range body {
		body[i].section = title
	}
	return append([]block{
		{height: s.spacing.above, space: true, keep: true},
		{height: s.spacing.below, full: []core.Component{bar(0, 0, gridWidth, 0.2, s.palette.rule)}, keep: true},
	}, body...)
}

// letterhead is the sender: the logo, or the name set large, and the contact lines.
func (s *sheet) letterhead() block {
	if s.doc.Company.Logo == nil && s.company == "" && len(s.lines) == 0 {
		return block{height: 6}
	}
	b := block{height: s.spacing.letterhead}
	small, name := s.scale.small, s.scale.name
	y := 0.0
	if logo := s.doc.Company.Logo; logo != nil {
		name.size, name.leading = small.size, small.leading
		lines := name.wrap(s.company, mainWidth-20)
		b.full = append(append(b.full, picture(logo)), name.right(y, lines...)...)
		y += name.height(len(lines))
	} else {
		name.size, name.leading = 15, 7
		lines := name.wrap(s.company, gridWidth/2-5)
		b.full = append(b.full, name.set(0, 0, lines...)...)
		b.height = max(b.height, name.height(len(lines))+12)
	}
	for _, line := range s.lines {
		for _, text := range small.wrap(line.Text, gridWidth/2-5) {
			b.full = append(b.full, small.right(y, text)...)
			if line.Link != "" {
				p := small.props(0, y)
				p.Align = align.Right
				b.full = append(b.full, small.link(text, line.Link, p))
			}
			y += small.leading
		}
	}
	b.height = max(b.height, y+10)
	return b
}

// headline names the document, its reference and its date.
func (s *sheet) headline() block {
	title, label, body := s.scale.title, s.scale.label, s.scale.body
	b := block{}
	b.full = append(b.full, bar(0, 0, 14, 1.3, s.palette.accent))
	b.full = append(b.full, title.set(-0.4, 4.5, s.words.title)...)
	y := 4.5 + title.leading + 2
	x := 0.0
	for _, pair := range [][2]string{{s.words.reference, s.reference}, {s.words.date, s.words.dateOf(s.doc.CreatedAt)}} {
		if pair[1] == "" {
			continue
		}
		b.full = append(b.full, label.set(x, y, pair[0])...)
		x += label.width(pair[0]) + 2
		b.full = append(b.full, body.set(x, y, pair[1])...)
		x += body.width(pair[1]) + 9
	}
	b.height = y + body.leading + 7
	return b
}

// price is the range on a tinted panel, the one thing everybody looks for.
func (s *sheet) price() block {
	const pad, stripe = 7.0, 1.3
	figure, heading, small := s.scale.figure, s.scale.heading, s.scale.small
	heading.colour = s.palette.strong
	limit := gridWidth - 2*pad - stripe
	span := s.span(s.doc.Submission.Estimate)
	figure.size = figure.fit(span, 15, limit)
	lines := figure.wrap(span, limit)

	y := pad - 1.5
	x := pad + stripe
	content := heading.set(x, y, s.words.estimate)
	y += heading.leading + 1.5
	content = append(content, figure.set(x-0.3, y, lines...)...)
	y += figure.height(len(lines)) + 1
	content = append(content, small.set(x, y, s.words.guide)...)
	y += small.leading + pad - 1.5

	return block{height: y + 2, full: append([]core.Component{
		bar(0, 0, gridWidth, y, s.palette.tint),
		bar(0, 0, stripe, y, s.palette.accent),
	}, content...)}
}

// recipient says who the estimate is for.
func (s *sheet) recipient() []block {
	name, body, label := s.scale.name, s.scale.body, s.scale.label
	contact := s.doc.Submission.Contact
	var out block
	add := func(st style, text string) {
		lines := st.wrap(text, mainWidth)
		out.main = append(out.main, st.set(0, out.height, lines...)...)
		out.height += st.height(len(lines))
	}
	add(name, s.print(contact.FirstName+" "+contact.LastName))
	add(body, s.print(contact.Company))
	add(label, s.print(contact.Email))
	add(label, s.print(contact.Phone))
	return s.section(s.words.preparedFor, out)
}

// project lists what was chosen, one line each.
func (s *sheet) project() []block {
	const key = 38.0
	body, label := s.scale.body, s.scale.label
	chosen := s.doc.Submission.Selections
	var out block
	for _, pair := range [][2]string{
		{s.words.projectType, chosen.ProjectType},
		{s.words.complexity, chosen.Complexity},
		{s.words.timeline, chosen.Timeline},
	} {
		value := s.label(pair[1])
		if value == "" {
			continue
		}
		lines := body.wrap(value, mainWidth-key)
		out.main = append(out.main, label.set(0, out.height, pair[0])...)
		out.main = append(out.main, body.set(key, out.height, lines...)...)
		out.height += body.height(len(lines)) + s.spacing.row
	}
	if out.height == 0 {
		return nil
	}
	return s.section(s.words.project, out)
}

func (s *sheet) label(slug string) string { return s.print(label(slug, s.doc.Labels)) }

// features lists the chosen features in two columns, row by row.
func (s *sheet) features() []block {
	const gutter, indent = 6.0, 4.0
	body := s.scale.body
	column := (mainWidth - gutter) / 2
	var names []string
	for _, slug := range s.doc.Submission.Selections.Features {
		if name := s.label(slug); name != "" {
			names = append(names, name)
		}
	}
	var rows []block
	for i := 0; i < len(names); i += 2 {
		var b block
		for j, name := range names[i:min(i+2, len(names))] {
			x := float64(j) * (column + gutter)
			lines := body.wrap(name, column-indent)
			b.main = append(b.main, bar(x, (body.leading-1.3)/2, 1.3, 1.3, s.palette.accent))
			b.main = append(b.main, body.set(x+indent, 0, lines...)...)
			b.height = max(b.height, body.height(len(lines))+s.spacing.row)
		}
		rows = append(rows, b)
	}
	// No row alone under the heading, and none alone on the next page.
	if n := len(rows); n > 1 {
		rows[0].keep, rows[n-2].keep = true, true
	}
	return s.section(s.words.features, rows...)
}

// next tells what happens next, in numbered steps.
func (s *sheet) next() []block {
	const indent = 6.0
	body, number := s.scale.body, s.scale.heading
	number.colour = s.palette.strong
	var out block
	for i, step := range s.words.steps {
		lines := body.wrap(step, mainWidth-indent)
		out.main = append(out.main, number.set(0, out.height, strconv.Itoa(i+1))...)
		out.main = append(out.main, body.set(indent, out.height, lines...)...)
		out.height += body.height(len(lines)) + s.spacing.row
	}
	return s.section(s.words.next, out)
}

// note is the disclaimer.
func (s *sheet) note() []block {
	small := s.scale.small
	lines := small.wrap(s.words.disclaimer, mainWidth)
	return s.section(s.words.note, block{height: small.height(len(lines)), main: small.set(0, 0.4, lines...)})
}
