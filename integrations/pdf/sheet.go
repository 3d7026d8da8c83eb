package pdf

import (
	"strconv"

	"github.com/johnfercher/maroto/v2/pkg/core"

	"siteapi/integrations/pdf/font"
)

// sheet is one document on its way to the page: its texts cleaned, its styles chosen.
type sheet struct {
	doc       *Document
	company   Company // with clean texts
	reference string
	logo      *logo // nil: none
	words     *words
	money     money
	family    *font.Family
	palette   *palette
	scale     *typescale
	tight     bool // less white space, to save a page
}

// say cleans a text from outside.
func (s *sheet) say(text string) string { return clean(text, s.family) }

// blocks lays the whole document out, top to bottom.
func (s *sheet) blocks() []block {
	var out []block
	out = append(out, s.letterhead(), s.headline(), s.price())
	out = append(out, s.recipient()...)
	out = append(out, s.project()...)
	out = append(out, s.features()...)
	out = append(out, s.next()...)
	return append(out, s.note()...)
}

// section puts a rule with white space around it above the first block of a section
// and the heading beside it. The rule stays with the block.
func (s *sheet) section(title string, body ...block) []block {
	above, below := 5.5, 5.0
	if s.tight {
		above, below = 4.2, 3.6
	}
	if len(body) == 0 {
		return nil
	}
	heading := s.scale.heading
	lines := wrap(title, heading.face, heading.size, sideWidth-6)
	body[0].side = append(body[0].side, heading.set(0, 0, lines...)...)
	body[0].height = max(body[0].height, heading.height(len(lines)))
	for i := range body {
		body[i].section = title
	}
	return append([]block{
		{height: above, space: true, keep: true},
		{height: below, full: []core.Component{bar(0, 0, gridWidth, 0.2, s.palette.rule)}, keep: true},
	}, body...)
}

// letterhead is the sender: the logo, or the name set large, and the contact lines.
func (s *sheet) letterhead() block {
	small, name := s.scale.small, s.scale.name
	b := block{height: 34}
	switch {
	case s.logo == nil && s.company.Name == "" && len(s.company.Lines) == 0:
		b.height = 6
	case s.tight:
		b.height = 27
	}
	y := 0.0
	if s.logo != nil {
		b.full = append(b.full, picture(s.logo))
		bold := small
		bold.face, bold.family, bold.colour = name.face, name.family, name.colour
		lines := wrap(s.company.Name, bold.face, bold.size, mainWidth-20)
		b.full = append(b.full, bold.right(y, lines...)...)
		y += bold.height(len(lines))
	} else {
		big := name
		big.size, big.leading = 15, 7
		lines := wrap(s.company.Name, big.face, big.size, gridWidth/2-5)
		b.full = append(b.full, big.set(0, 0, lines...)...)
		b.height = max(b.height, big.height(len(lines))+12)
	}
	for _, line := range s.company.Lines {
		lines := wrap(line, small.face, small.size, gridWidth/2-5)
		b.full = append(b.full, small.right(y, lines...)...)
		y += small.height(len(lines))
	}
	b.height = max(b.height, y+10)
	return b
}

// headline names the document, its reference and its date.
func (s *sheet) headline() block {
	title, label, body := s.scale.title, s.scale.label, s.scale.body
	title.size = fit(s.words.title, title.face, title.size, 16, gridWidth)
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
		x += width(pair[0], label.face, label.size) + 2
		b.full = append(b.full, body.set(x, y, pair[1])...)
		x += width(pair[1], body.face, body.size) + 9
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
	span := s.money.span(s.doc.Submission.Estimate, s.family)
	figure.size = fit(span, figure.face, figure.size, 15, limit)
	lines := wrap(span, figure.face, figure.size, limit)

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
		lines := wrap(text, st.face, st.size, mainWidth)
		out.main = append(out.main, st.set(0, out.height, lines...)...)
		out.height += st.height(len(lines))
	}
	add(name, s.say(contact.FirstName+" "+contact.LastName))
	add(body, s.say(contact.Company))
	add(label, s.say(contact.Email))
	add(label, s.say(contact.Phone))
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
		lines := wrap(value, body.face, body.size, mainWidth-key)
		out.main = append(out.main, label.set(0, out.height, pair[0])...)
		out.main = append(out.main, body.set(key, out.height, lines...)...)
		out.height += body.height(len(lines)) + 0.8
	}
	if out.height == 0 {
		return nil
	}
	return s.section(s.words.project, out)
}

func (s *sheet) label(slug string) string { return s.say(label(slug, s.doc.Labels)) }

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
			lines := wrap(name, body.face, body.size, column-indent)
			b.main = append(b.main, bar(x, (body.leading-1.3)/2, 1.3, 1.3, s.palette.accent))
			b.main = append(b.main, body.set(x+indent, 0, lines...)...)
			b.height = max(b.height, body.height(len(lines))+0.8)
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
		lines := wrap(step, body.face, body.size, mainWidth-indent)
		out.main = append(out.main, number.set(0, out.height, strconv.Itoa(i+1))...)
		out.main = append(out.main, body.set(indent, out.height, lines...)...)
		out.height += body.height(len(lines)) + 0.8
	}
	return s.section(s.words.next, out)
}

// note is the disclaimer.
func (s *sheet) note() []block {
	small := s.scale.small
	lines := wrap(s.words.disclaimer, small.face, small.size, mainWidth)
	return s.section(s.words.note, block{height: small.height(len(lines)), main: small.set(0, 0.4, lines...)})
}
