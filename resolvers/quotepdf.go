package resolvers

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"siteapi/integrations/cache"
	"siteapi/integrations/pdf"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	pdfKeyPrefix   = "quote:pdf:"
	pdfContentType = "application/pdf"
	shortIDLength  = 8
)

// SubmissionTrust is how long a submission that was read is taken to be there still, by
// whoever asks for its document again. `siteapi leads erase`, which runs in another
// process, waits for as long before it says that one is gone.
const SubmissionTrust = 300 * time.Millisecond

// pdfLife is how long a rendered document is kept.
func pdfLife() cache.Lifetime { return cache.Lifetime{Fresh: time.Hour} }

// quotePdf is the rule of the root field of that name.
func (r *Resolver) quotePdf(ctx context.Context, id string, asked *schema.Locale) (*schema.QuotePDF, error) {
	until := r.Now().Add(SubmissionTrust) // from before it is read
	submission, err := r.Quotes.Submission(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notFound("There is no submission with this id.")
	}
	if err != nil {
		return nil, translate(err)
	}
	locale, negotiated := pdfLocale(asked, submission.Locale, schema.CallerFrom(ctx).AcceptLanguage)
	rendered, err := r.renderedPdf(ctx, &submission, locale)
	if err != nil {
		return nil, translate(err)
	}
	entry := rendered.entry
	lasting := schema.LastingFrom(ctx)
	lasting.Stands, lasting.Negotiated = r.standing(rendered, locale, until), negotiated
	return &schema.QuotePDF{
		FileName:    "quote-" + shortID(submission.ID) + ".pdf",
		ContentType: pdfContentType,
		Size:        len(entry.Value),
		Etag:        `"` + entry.Revision + `"`,
		Locale:      locale,
		Content:     entry.Value,
	}, nil
}

// standing returns whether a document is still the one that would be given: drawn with
// the content of this moment and still in the cache. That the submission itself is still
// there is believed until the given time.
func (r *Resolver) standing(d rendering, locale schema.Locale, until time.Time) func() bool {
	return func() bool {
		if !r.Now().Before(until) {
			return false
		}
		ctx := context.Background() // neither look waits for anything
		if revision, ok := r.content.revision(ctx, locale); !ok || revision != d.content {
			return false
		}
		kept, ok := r.Cache.Peek(ctx, d.key)
		return ok && kept.Revision == d.entry.Revision
	}
}

// pdfLocale picks the language of a document: the one asked for, else the
// submission's, else what Accept-Language says, and then it was negotiated.
func pdfLocale(asked *schema.Locale, submitted, acceptLanguage string) (l schema.Locale, negotiated bool) {
	if asked != nil {
		return *asked, false
	}
	if l, ok := schema.ParseLocale(submitted); ok {
		return l, false
	}
	return preferred(acceptLanguage), true
}

// preferred is the best match of Accept-Language, else the default.
func preferred(acceptLanguage string) schema.Locale {
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil || len(wanted) == 0 {
		return schema.DefaultLocale
	}
	locales := schema.Locales()
	tags := make([]language.Tag, len(locales))
	for i, l := range locales {
		tags[i] = language.Make(string(l))
	}
	_, index, confidence := language.NewMatcher(tags).Match(wanted...)
	if confidence == language.No {
		return schema.DefaultLocale
	}
	return locales[index]
}

func shortID(id string) string { return id[:min(shortIDLength, len(id))] }

// rendering is a document in the cache.
type rendering struct {
	key     string
	content string // revision of the content it was drawn with
	entry   cache.Entry
}

// renderedPdf returns the document of a submission in a language, rendered once for
// all who ask. The key names the content it was drawn with, so an edit of the site's
// settings shows in the very next document.
func (r *Resolver) renderedPdf(ctx context.Context, s *quote.Submission, locale schema.Locale) (rendering, error) {
	snap, err := r.content.read(ctx, locale)
	if err != nil {
		// A quote must not wait for the CMS: it is drawn with what the service knows itself.
		r.Log.Warn().Err(err).Msg("drawing a quote without the site's settings")
		snap = &snapshot{revision: "none"}
	}
	document := r.document(ctx, s, locale, snap)
	key := pdfKeyPrefix + s.ID + ":" + string(locale) + ":" + snap.revision
	if document.Company.Logo == nil {
		// A document drawn while the logo can't be had must not stay once it can.
		key += ":plain"
	}
	entry, err := r.Cache.Get(ctx, key, pdfLife(), func(ctx context.Context) ([]byte, error) {
		return r.PDF.Render(ctx, document)
	})
	return rendering{key: key, content: snap.revision, entry: entry}, err
}

func (r *Resolver) document(ctx context.Context, s *quote.Submission, locale schema.Locale, snap *snapshot) pdf.Document {
	d := pdf.Document{
		Submission: *s, Locale: string(locale), Labels: snap.labels, CreatedAt: s.SubmittedAt,
		Company: pdf.Company{Name: r.CompanyName, Accent: r.Accent},
	}
	if snap.settings == nil {
		return d
	}
	if name := snap.settings.companyName; name != "" {
		d.Company.Name = name
	}
	if accent := snap.settings.accent; accent != "" {
		d.Company.Accent = accent
	}
	d.Company.Lines = companyLines(snap.settings, locale)
	if logo := snap.settings.shown.Logo; r.Logo != nil && logo != nil && logo.Asset != nil && logo.Asset.URL != nil {
		picture, err := r.Logo.Load(ctx, *logo.Asset.URL)
		if err != nil {
			r.Log.Warn().Err(err).Msg("drawing a quote without the logo")
		}
		d.Company.Logo = picture
	}
	return d
}

// companyLines are the address and contact lines under the company's name, linked where
// they can be.
func companyLines(settings *siteSettings, locale schema.Locale) []pdf.Line {
	var lines []pdf.Line
	s := settings.shown
	add := func(sep, link string, parts ...*string) {
		var words []string
		for _, p := range parts {
			if p != nil {
				words = append(words, strings.TrimSpace(*p))
			}
		}
		if len(words) > 0 {
			lines = append(lines, pdf.Line{Text: strings.Join(words, sep), Link: link})
		}
	}
	if a := s.Address; a != nil {
		add(", ", "", a.Street)
		add(" ", "", a.ZipCode, a.City)
		add(", ", "", a.State, a.Country)
	}
	for _, p := range s.ContactPhones {
		if slices.Contains(p.DisplayLocation, displayContact) {
			add(": ", telephoneLink(p.Number), localized(p.Label, locale), &p.Number)
		}
	}
	if len(s.ContactPhones) == 0 && s.ContactPhone != nil {
		add("", telephoneLink(*s.ContactPhone), s.ContactPhone)
	}
	if s.ContactEmail != nil {
		add("", "mailto:"+*s.ContactEmail, s.ContactEmail)
	}
	if u, err := url.Parse(settings.website); err == nil && u.Scheme == "https" {
		add("", settings.website, &u.Host)
	}
	return lines
}

// telephoneLink makes an address to call of a number as people write it.
func telephoneLink(number string) string {
	return "tel:" + strings.Map(func(r rune) rune {
		if r == '+' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, number)
}

// localized returns a text in a language, nil where it has none.
func localized(s *schema.LocalizedString, locale schema.Locale) *string {
	if s == nil {
		return nil
	}
	return map[schema.Locale]*string{schema.LocaleEn: s.En, schema.LocaleEs: s.Es, schema.LocaleRo: s.Ro}[locale]
}
