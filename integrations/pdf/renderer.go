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
	"time"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"github.com/johnfercher/maroto/v2/pkg/consts/pagesize"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"
	"github.com/rs/zerolog"

	"siteapi/integrations/pdf/font"
)

// Renderer draws documents. Its methods may be called concurrently.
type Renderer struct {
	log         zerolog.Logger
	latin, wide func() (*font.Family, error)
}

// sortCatalogs makes gofpdf write its objects in a fixed order. The setting applies to
// the whole process.
var sortCatalogs = sync.OnceFunc(func() { gofpdf.SetDefaultCatalogSort(true) })

// New returns a renderer. The fonts are prepared in the background; the first document
// waits for them. Replaced letters are logged as a warning with the names of their
// scripts, but without the text.
func New(log zerolog.Logger) *Renderer {
	sortCatalogs()
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
	created := s.CreatedAt.UTC()

	m := maroto.New(config.NewBuilder().
		WithPageSize(pagesize.A4).
		WithLeftMargin(marginSide).
		WithRightMargin(marginSide).
		WithTopMargin(marginTop).
		WithBottomMargin(marginBottom).
		WithCompression(true).
		WithTitle(strings.TrimSpace(s.Words.Title+" "+s.Reference), true).
		WithAuthor(s.company, true).
		WithCreationDate(created).
		WithCustomFonts([]*entity.CustomFont{
			// gofpdf writes into the font it is given, so each document gets a copy.
			{Family: regularFamily, Style: fontstyle.Normal, Bytes: bytes.Clone(s.family.Regular.TTF)},
			{Family: boldFamily, Style: fontstyle.Normal, Bytes: bytes.Clone(s.family.Bold.TTF)},
		}).
		WithDefaultFont(&props.Font{Family: regularFamily, Size: s.scale.body.size}).
		Build())

	for i, body := range s.pages {
		m.AddPages(s.page(i, body))
	}
	doc, err := m.Generate()
	if err != nil {
		return nil, err
	}
	return finish(doc.GetBytes(), s.Words.tag.String(), created)
}

// errTrailer means that the file does not end in the way that this version of gofpdf
// writes it.
var errTrailer = errors.New("unexpected end of the PDF library's file")

// finish sets the document's language, which gofpdf can't do, and the modification date,
// for which gofpdf uses the current time. The catalog is the last object of a file, so
// only the offset of the cross-reference table after it changes.
func finish(file []byte, lang string, created time.Time) ([]byte, error) {
	const modified, catalog, table = "/ModDate (D:", "/Type /Catalog\n", "startxref\n"

	date := bytes.LastIndex(file, []byte(modified))
	at := bytes.LastIndex(file, []byte(catalog))
	start := bytes.LastIndex(file, []byte(table))
	if date < 0 || at < date || start < at || !bytes.HasPrefix(file, []byte("%PDF-1.3")) {
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
	copy(out[date+len(modified):], created.UTC().Format("20060102150405"))
	return out, nil
}
