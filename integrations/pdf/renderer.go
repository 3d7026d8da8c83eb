package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"github.com/johnfercher/maroto/v2/pkg/consts/pagesize"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"
	"golang.org/x/text/language"

	"siteapi/integrations/pdf/font"
)

// Options set a renderer up. The zero value is useful.
type Options struct {
	// Accent is the accent colour of documents whose company names none, "#rrggbb".
	// Empty: [DefaultAccent].
	Accent string
}

// Renderer draws documents. Its methods may be called concurrently.
type Renderer struct {
	accent  string
	latin   func() (*font.Family, error) // being cut since the start
	wide    func() (*font.Family, error) // cut when the first document needs it
	locales map[string]*locale
	logos   *logoStore
	finish  *finisher
}

// locale is what a document's language decides.
type locale struct {
	words *words
	money money
}

// sortCatalogs makes the PDF library write its objects in a fixed order. The library
// has the switch only for the whole process, so it is thrown once.
var sortCatalogs = sync.OnceFunc(func() { gofpdf.SetDefaultCatalogSort(true) })

// New returns a renderer. The fonts are cut in the background, once; a document that
// comes before that is done waits for it. The error is that of a malformed accent.
func New(o Options) (*Renderer, error) {
	if _, ok := parseColour(o.Accent); !ok && o.Accent != "" {
		return nil, fmt.Errorf("the accent colour %q is not of the form #rrggbb", o.Accent)
	}
	sortCatalogs()
	r := &Renderer{
		accent:  o.Accent,
		latin:   sync.OnceValues(font.Latin),
		wide:    sync.OnceValues(font.Wide),
		locales: map[string]*locale{},
		logos:   newLogoStore(),
		finish:  newFinisher(),
	}
	for name, w := range map[string]*words{"en": english(), "es": spanish(), "ro": romanian()} {
		r.locales[name] = &locale{words: w, money: money{tag: language.MustParse(name), codeFirst: w.codeFirst}}
	}
	go func() { _, _ = r.latin() }() // an error shows when the first page is drawn
	return r, nil
}

// Render draws a document and returns the PDF file. The same document gives the same
// bytes. A logo that can't be used is left out. The error is that of ctx, or a fault
// in the drawing.
func (r *Renderer) Render(ctx context.Context, d Document) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("rendering the quote: %w", err)
	}
	s, err := r.sheet(&d)
	if err != nil {
		return nil, fmt.Errorf("rendering the quote: %w", err)
	}
	raw, err := s.draw()
	if err != nil {
		return nil, fmt.Errorf("rendering the quote: %w", err)
	}
	file, err := r.finish.finish(raw, s.metadata())
	if err != nil {
		return nil, fmt.Errorf("finishing the quote: %w", err)
	}
	return file, nil
}

// sheet prepares a document: language, fonts, colours, logo and clean company texts.
func (r *Renderer) sheet(d *Document) (*sheet, error) {
	loc, ok := r.locales[d.Locale]
	if !ok {
		loc = r.locales["en"]
	}
	family, err := r.latin()
	if err == nil && !d.isLatin(family) {
		family, err = r.wide()
	}
	if err != nil {
		return nil, err
	}
	p := newPalette(d.Company.Accent, r.accent)
	s := &sheet{
		doc:       d,
		reference: Reference(d.Submission.ID),
		logo:      r.logos.get(d.Company.Logo),
		words:     loc.words,
		money:     loc.money,
		family:    family,
		palette:   p,
		scale:     newTypescale(family, p),
	}
	s.company.Name = s.say(d.Company.Name)
	for _, line := range d.Company.Lines {
		if line = s.say(line); line != "" {
			s.company.Lines = append(s.company.Lines, line)
		}
	}
	return s, nil
}

// isLatin reports whether a family has every letter of the texts from outside.
func (d *Document) isLatin(family *font.Family) bool {
	ok := func(text string) bool {
		return strings.IndexFunc(text, func(r rune) bool { return !family.Has(r) }) < 0
	}
	c, chosen := d.Submission.Contact, d.Submission.Selections
	texts := []string{c.FirstName, c.LastName, c.Email, c.Phone, c.Company, d.Company.Name}
	texts = append(texts, d.Company.Lines...)
	for _, slug := range append([]string{chosen.ProjectType, chosen.Complexity, chosen.Timeline}, chosen.Features...) {
		texts = append(texts, d.Labels[slug])
	}
	for _, text := range texts {
		if !ok(text) {
			return false
		}
	}
	return true
}

// draw has maroto draw the pages. It returns what the library writes.
func (s *sheet) draw() (file []byte, err error) {
	// The library panics where it meets data it does not expect.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("drawing the pages: %v", p)
		}
	}()
	cfg := config.NewBuilder().
		WithPageSize(pagesize.A4).
		WithLeftMargin(marginSide).
		WithRightMargin(marginSide).
		WithTopMargin(marginTop).
		WithBottomMargin(marginBottom).
		WithMaxGridSize(gridWidth).
		WithCompression(false). // the finisher does it.
		WithCustomFonts([]*entity.CustomFont{
			{Family: regularFamily, Style: fontstyle.Normal, Bytes: s.family.Regular.TTF},
			{Family: boldFamily, Style: fontstyle.Normal, Bytes: s.family.Bold.TTF},
		}).
		WithDefaultFont(&props.Font{Family: regularFamily, Size: s.scale.body.size}).
		Build()
	m := maroto.New(cfg)
	m.AddPages(s.pages()...)
	doc, err := m.Generate()
	if err != nil {
		return nil, fmt.Errorf("drawing the pages: %w", err)
	}
	if file = doc.GetBytes(); len(file) == 0 {
		return nil, errors.New("drawing the pages: nothing was drawn")
	}
	return file, nil
}

// metadata is what the file says of the document.
func (s *sheet) metadata() metadata {
	title := s.words.title
	if s.reference != "" {
		title += " " + s.reference
	}
	return metadata{title: title, author: s.company.Name, lang: s.money.tag.String(), created: s.doc.CreatedAt}
}
