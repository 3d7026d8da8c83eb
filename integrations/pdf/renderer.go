package pdf

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/consts/fontstyle"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"
	"github.com/rs/zerolog"

	"siteapi/integrations/pdf/font"
)

// Renderer draws documents. Its methods may be called concurrently.
type Renderer struct {
	log    zerolog.Logger
	family func() (*font.Family, error)
}

// sortCatalogs makes gofpdf write its objects in a fixed order. The setting applies to
// the whole process.
var sortCatalogs = sync.OnceFunc(func() { gofpdf.SetDefaultCatalogSort(true) })

// New returns a renderer. The typeface is prepared in the background; the first document
// waits for it. Replaced letters are logged as a warning with the names of their
// scripts, but without the text.
func New(log zerolog.Logger) *Renderer {
	sortCatalogs()
	r := &Renderer{log, sync.OnceValues(font.Cut)}
	go func() { _, _ = r.family() }() // The first Render reports the error.
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

	family, err := r.family()
	if err != nil {
		return nil, err
	}
	s, err := layOut(&d, family)
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

// noAttachments is the part of the catalog with which gofpdf lists the attached files, of
// which a quote has none.
const noAttachments = "/Names <<\n/EmbeddedFiles << /Names [\n  \n] >>\n>>"

// finish sets the document's language, which gofpdf can't do, and the modification date,
// for which gofpdf uses the current time. It overwrites text with text of the same length,
// because the file has a table of offsets.
func finish(file []byte, lang string, created time.Time) ([]byte, error) {
	for former, text := range map[string]string{
		"%PDF-1.3":     "%PDF-1.4", // the first version with a document language
		"/ModDate (D:": "/ModDate (D:" + created.Format("20060102150405"),
		noAttachments:  fmt.Sprintf("%-*s", len(noAttachments), "/Lang ("+lang+")"),
	} {
		at := bytes.LastIndex(file, []byte(former))
		if at < 0 {
			return nil, fmt.Errorf("the PDF library's file has no %q", former)
		}
		copy(file[at:], text)
	}
	return file, nil
}
