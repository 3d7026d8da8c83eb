// Package quotepdf renders the PDF summaries of leads, for the field quotePdf and as
// attachments of mails. It renders a document once for all requests, and again after the
// content has changed. If the content cannot be read, it renders the document without the
// site's settings.
package quotepdf

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"siteapi/integrations/cache"
	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/content"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Renderer renders documents. Equal documents result in equal bytes.
type Renderer interface {
	Render(ctx context.Context, d pdf.Document) ([]byte, error)
}

// LogoLoader fetches a logo in a form that a Renderer supports.
type LogoLoader interface {
	Load(ctx context.Context, url string) ([]byte, error)
}

// LeadStore is the part of the store that has leads.
type LeadStore interface {
	Lead(ctx context.Context, id string) (lead.Lead, error)
}

// Deps are the dependencies of a [Resolver]. All fields are required.
type Deps struct {
	Content   *content.Service
	Cache     cache.Cache
	Store     LeadStore
	PDF       Renderer
	Logo      LogoLoader
	TimeZone  *time.Location // the zone of the printed date
	LogoHosts []string       // hosts from which Logo loads
	Log       zerolog.Logger

	// ObserveDatabase records a database operation that a visitor waited for, with its
	// start and error.
	ObserveDatabase func(operation string, began time.Time, err error)
}

// Resolver resolves quotePdf.
type Resolver struct {
	Deps

	drawing *semaphore.Weighted // limits how many documents are rendered at a time
	variant string              // of the settings, in cache keys
}

// New returns a resolver over its dependencies.
func New(d Deps) *Resolver {
	return &Resolver{
		Deps:    d,
		drawing: semaphore.NewWeighted(int64(2 * runtime.GOMAXPROCS(0))),
		variant: fmt.Sprintf("%.4x", sha256.Sum256(fmt.Append(nil, d.TimeZone, d.LogoHosts))),
	}
}

// Lifetimes of rendered documents. A document without its logo is rendered again soon.
const (
	pdfFresh           = time.Hour
	incompletePDFFresh = time.Minute
)

// logoWait is how long a document waits for its logo; the rest of the time is for
// rendering. A logo is fetched again after an hour. If that fails, the previous one is
// used for a day.
const logoWait = cache.FillTimeout / 2

// drawWait is how long a document waits while others are rendered.
const drawWait = 2 * time.Second

// documentKey is the cache key of a rendered document. It has the revision of the content,
// so the next document reflects an edit of the site settings.
func (r *Resolver) documentKey(id string, locale schema.Locale, revision string) string {
	return lead.PDFKey(id) + string(locale) + ":" + r.variant + ":" + revision
}

// QuotePDF resolves quotePdf: it returns the document of a lead in the requested language,
// or else in that of the lead or of the caller.
func (r *Resolver) QuotePDF(ctx context.Context, id string, asked *schema.Locale) (*schema.QuotePDF, error) {
	locale, err := r.pdfLocale(ctx, id, asked)
	if err != nil {
		return nil, err
	}

	snap := r.content(ctx, locale)
	file := &schema.File{}
	var entry cache.Entry
	if request.CallerFrom(ctx).Preview == "" {
		entry, err = r.Cache.Get(ctx, r.documentKey(id, locale, snap.Revision), r.fill(id, locale, snap))
		file.Again = r.again(id, locale, entry.Revision, snap.Revision)
	} else { // Drafts are kept nowhere.
		entry, _, err = cache.Run(ctx, r.fill(id, locale, snap))
	}
	if err != nil {
		return nil, err
	}

	words, err := pdf.WordsIn(string(locale))
	if err != nil {
		return nil, err
	}

	file.Content = entry.Value
	schema.AttachFile(ctx, file)
	return &schema.QuotePDF{
		FileName:    words.File + "-" + strings.ToLower(lead.Reference(id)) + ".pdf",
		ContentType: "application/pdf",
		Size:        len(entry.Value),
		Etag:        `"` + entry.Revision + `"`,
		Locale:      locale,
		Content:     entry.Value,
	}, nil
}

// content returns the content in the caller's perspective of the CMS. An unavailable CMS
// must not prevent a quote.
func (r *Resolver) content(ctx context.Context, locale schema.Locale) *content.Snapshot {
	snap, err := r.Content.ReadAs(ctx, request.CallerFrom(ctx).Preview, locale)
	if err != nil {
		r.Log.Warn().Ctx(ctx).Err(err).
			Msg("cannot read the content: showing a quote without the site settings")
		return &content.Snapshot{Revision: "none"}
	}
	return snap
}

// Summarized returns the data of a lead's document in the caller's perspective of the CMS, and
// the site's settings. The settings are nil if the content cannot be read.
func (r *Resolver) Summarized(
	ctx context.Context, l *lead.Lead, locale schema.Locale,
) (pdf.Document, *content.Settings) {
	snap := r.content(ctx, locale)
	d, _ := r.document(ctx, l, locale, snap)
	return d, snap.Settings
}

// Forget clears all documents from the cache after leads were deleted, and returns their
// number.
func (r *Resolver) Forget(ctx context.Context) (int, error) {
	return r.Cache.Clear(ctx, lead.PDFKeys+"*")
}

func noLead() *schema.Error { return schema.NotFound("There is no submission with this id.") }

// ReadLead reads a lead from the database. It leaves out an address that an operator
// corrected, and the right one: the person with the typed one has the link, too.
func (r *Resolver) ReadLead(ctx context.Context, id string) (lead.Lead, error) {
	began := time.Now()
	s, err := r.Store.Lead(ctx, id)
	for _, d := range s.Deliveries {
		if d.Recipient != "" {
			s.Contact.Email = ""
		}
	}
	r.ObserveDatabase("submission", began, err)

	switch {
	case errors.Is(err, store.ErrNotFound):
		return s, noLead()
	case errors.Is(err, store.ErrUnavailable):
		return s, schema.Unavailable("The submission cannot be read at the moment.", err)
	}
	return s, err
}

// pdfLocale picks the language of a document: the requested one, or else the
// lead's, or else the best match for Accept-Language.
func (r *Resolver) pdfLocale(ctx context.Context, id string, asked *schema.Locale) (schema.Locale, error) {
	if asked != nil {
		return *asked, nil
	}

	entry, err := r.Cache.Get(ctx, lead.PDFKey(id)+"locale",
		func(ctx context.Context) ([]byte, cache.Lifetime, error) {
			s, err := r.ReadLead(ctx, id)
			return []byte(s.Locale), cache.Lifetime{Fresh: pdfFresh}, err
		})
	if err != nil {
		return "", err
	}
	return LocaleOf(string(entry.Value), request.CallerFrom(ctx).Header), nil
}

// LocaleOf returns the language of a lead, or else the best match for Accept-Language.
func LocaleOf(own string, h http.Header) schema.Locale {
	if locale, ok := schema.ParseLocale(own); ok {
		return locale
	}
	return schema.AcceptedLocale(h)
}

// fill returns the function that renders the document of a lead.
func (r *Resolver) fill(id string, locale schema.Locale, snap *content.Snapshot) cache.Fill {
	return func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		s, err := r.ReadLead(ctx, id)
		if err != nil {
			return nil, cache.Lifetime{}, err
		}

		life := cache.Lifetime{Fresh: pdfFresh}
		document, complete := r.document(ctx, &s, locale, snap)
		if !complete {
			life.Fresh = incompletePDFFresh
		}

		value, err := r.draw(ctx, document)
		return value, life, err
	}
}

// again returns a function for [schema.File] that returns a rendered document while it is
// still the current one. An endpoint may keep the function, so it refers to copies of the
// two revisions and not to the document or the content.
func (r *Resolver) again(id string, locale schema.Locale, sent, content string) func() ([]byte, bool) {
	key := r.documentKey(id, locale, content)
	sent, content = strings.Clone(sent), strings.Clone(content)
	return func() ([]byte, bool) {
		revision, _ := r.Content.Revision(string(locale))
		now, ok := r.Cache.Peek(context.Background(), key)
		return now.Value, ok && now.Revision == sent && revision == content
	}
}

// draw renders a document. If too many others are being rendered, it gives up after
// drawWait.
func (r *Resolver) draw(ctx context.Context, d pdf.Document) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, drawWait)
	defer cancel()
	if r.drawing.Acquire(waiting, 1) != nil {
		return nil, &schema.Error{
			Code:       schema.CodeUpstreamUnavailable,
			Message:    "The service is busy. Please try again.",
			RetryAfter: time.Second,
		}
	}

	defer r.drawing.Release(1)
	return r.PDF.Render(ctx, d)
}

// document returns the data of a document. It is incomplete if its logo cannot be loaded.
func (r *Resolver) document(
	ctx context.Context, s *lead.Lead, locale schema.Locale, snap *content.Snapshot,
) (d pdf.Document, complete bool) {
	d = pdf.Document{
		Lead:      *s,
		Locale:    string(locale),
		Labels:    snap.Labels,
		CreatedAt: s.SubmittedAt.In(r.TimeZone),
	}
	if snap.Settings != nil {
		d.Company.Name, d.Company.Accent = snap.Settings.CompanyName, snap.Settings.Accent
		d.Company.Lines = companyLines(snap.Settings, locale)
	}
	r.setTexts(ctx, &d, snap)
	if snap.Settings == nil {
		return d, true
	}

	if logo := snap.Settings.Shown.Logo; logo != nil && logo.Asset != nil && logo.Asset.URL != nil {
		var err error
		if d.Company.Logo, err = r.logo(ctx, *logo.Asset.URL); err != nil {
			// The query of a logo's address may contain a token.
			reason := upstream.Redact(err.Error())
			r.Log.Warn().Ctx(ctx).Str("reason", reason).
				Msg("cannot load the logo: rendering a quote without it")
			return d, false
		}
	}
	return d, true
}

// setTexts sets the firm's texts: those that the lead was accepted with, or in a preview
// the drafts.
func (r *Resolver) setTexts(ctx context.Context, d *pdf.Document, snap *content.Snapshot) {
	texts, err := content.DecodeTexts(d.Lead.Texts)
	if request.CallerFrom(ctx).Preview != "" && !snap.Unusable[store.Texts] {
		texts = snap.Texts
	}
	if texts != nil && err == nil {
		err = d.SetTexts(&texts.Texts)
	}
	if err != nil {
		r.Log.Error().Ctx(ctx).Err(err).Msg("cannot read the texts of a lead: using the standard ones")
	}
}

// logo returns the company's logo in the form for the Renderer. If that takes longer than
// logoWait, fetching continues for the next document.
func (r *Resolver) logo(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, logoWait)
	defer cancel()

	key := fmt.Sprintf("quote:logo:%s:%x", r.variant, sha256.Sum256([]byte(address)))
	entry, err := r.Cache.Get(ctx, key, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		image, err := r.Logo.Load(ctx, address)
		return image, cache.Lifetime{Fresh: time.Hour, Stale: 24 * time.Hour}, err
	})
	return entry.Value, err
}
