package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/phpdave11/gofpdf"
	"github.com/rs/zerolog"

	"siteapi/integrations/pdf/font"
)

// Renderer draws documents. Its methods may be called concurrently.
type Renderer struct {
	log         zerolog.Logger
	latin, wide func() (*font.Family, error)
}

// New returns a renderer. The fonts are prepared in the background; the first document
// waits for them. Replaced letters are logged as a warning with the names of their
// scripts, but without the text.
func New(log zerolog.Logger) *Renderer {
	r := &Renderer{log: log, latin: sync.OnceValues(font.Latin), wide: sync.OnceValues(font.Wide)}
	go func() { _, _ = r.latin() }() // The first Render reports the error.
	return r
}

// Render draws a document and returns the PDF file. It fails if ctx has ended or the
// document can't be drawn.
func (r *Renderer) Render(ctx context.Context, d Document) (file []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rendering the quote: %w", err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	s, err := layOut(&d, r.latin)
	if err == nil && len(s.missing) > 0 {
		s, err = layOut(&d, r.wide)
	}
	if err != nil {
		return nil, err
	}

	if len(s.missing) > 0 {
		r.log.Warn().
			Str("submission", s.Reference).
			Strs("scripts", slices.Sorted(maps.Keys(s.missing))).
			Msg("the typeface of the quote lacks letters: printing boxes instead")
	}
	return s.draw()
}

func (s *sheet) draw() ([]byte, error) {
	p := gofpdf.New("P", "mm", "A4", "")
	p.SetAutoPageBreak(false, 0)
	p.SetTitle(strings.TrimSpace(s.Words.Title+" "+s.Reference), true)
	p.SetAuthor(s.company, true)

	// The same lead must give the same bytes.
	p.SetCatalogSort(true)
	p.SetCreationDate(s.CreatedAt.UTC())
	p.SetModificationDate(s.CreatedAt.UTC())

	// gofpdf writes into the font it is given, so each document gets a copy.
	p.AddUTF8FontFromBytes(regularFamily, "", bytes.Clone(s.family.Regular.TTF))
	p.AddUTF8FontFromBytes(boldFamily, "", bytes.Clone(s.family.Bold.TTF))

	for i, body := range s.pages {
		s.page(p, i, body)
	}
	var file bytes.Buffer
	if err := p.Output(&file); err != nil {
		return nil, err
	}
	return finish(file.Bytes(), s.Words.tag.String())
}

// errTrailer means that the file does not end in the way that this version of gofpdf
// writes it.
var errTrailer = errors.New("unexpected end of the PDF library's file")

// finish sets the document's language, which gofpdf can't do. The catalog is the last object
// of a file, so only the offset of the cross-reference table after it changes.
func finish(file []byte, lang string) ([]byte, error) {
	const catalog, table = "/Type /Catalog\n", "startxref\n"

	at := bytes.LastIndex(file, []byte(catalog))
	start := bytes.LastIndex(file, []byte(table))
	if at < 0 || start < at || !bytes.HasPrefix(file, []byte("%PDF-1.3")) {
		return nil, errTrailer
	}

	at += len(catalog)
	digits, rest, _ := bytes.Cut(file[start+len(table):], []byte("\n"))
	offset, err := strconv.Atoi(string(digits))
	if err != nil || offset < at {
		return nil, errTrailer
	}

	entries := fmt.Sprintf("/Lang (%s)\n/ViewerPreferences <</DisplayDocTitle true>>\n", lang)
	out := slices.Concat(file[:at], []byte(entries), file[at:start+len(table)],
		fmt.Appendf(nil, "%d\n", offset+len(entries)), rest)
	copy(out, "%PDF-1.4") // the first version with a document language
	return out, nil
}
