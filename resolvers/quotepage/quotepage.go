// Package quotepage shows the summary of a lead as a page, for the field quotePage, and
// resolves what a visitor can do there: withdraw a consent, and ask for the deletion of the
// lead. A stranger may have the address of the page, so the page shows no more
// than the PDF, except for the purposes of the lead's consents, and loses no lead.
package quotepage

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepdf"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Visitor is the actor of a visitor's acts in the audit.
const Visitor = "visitor"

//go:embed page.html
var pageFile string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	// The service builds all links; html/template would block tel: links.
	"link": func(address string) template.URL { return template.URL(address) }, //nolint:gosec // as above
}).Parse(pageFile))

// Resolver resolves quotePage and the acts on it. All fields are required.
type Resolver struct {
	PDFs      *quotepdf.Resolver
	Store     *store.Store
	Operators *operators.Resolver
}

// view has the values of the page.
type view struct {
	*pdf.Summary // nil: there is no such lead
	Words        *pdf.Words
	Locale       schema.Locale
	Accent       template.CSS
	Logo         template.URL // data: address; empty: none
	PDF          string
	Consents     []consent
	Asked        string // a sentence if deletion was requested

	// Reason has the paragraphs of a refusal to delete the lead.
	Reason []string
}

// consent is a consent that was given with the lead, named by the wording agreed to.
type consent struct{ Purpose, Wording, Withdrawn string }

// QuotePage resolves quotePage. The page of an unknown lead says so in the visitor's language.
func (r *Resolver) QuotePage(
	ctx context.Context, id string, asked *schema.Locale,
) (*schema.QuotePage, error) {
	l, err := r.PDFs.ReadLead(ctx, id)
	missing, isMissing := errors.AsType[*schema.Error](err)
	isMissing = isMissing && missing.Code == schema.CodeNotFound
	if err != nil && !isMissing {
		return nil, err
	}

	locale := schema.ValueOr(asked, quotepdf.LocaleOf(l.Locale, request.CallerFrom(ctx).Header))
	v := &view{Locale: locale}
	if v.Words, err = pdf.WordsIn(string(locale)); err != nil {
		return nil, err
	}
	if !isMissing {
		if err := r.fill(ctx, v, &l); err != nil {
			return nil, err
		}
	}

	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("writing the page of a quote: %w", err)
	}
	schema.AttachFile(ctx, &schema.File{Content: out.Bytes()})
	if isMissing {
		return nil, missing
	}
	return &schema.QuotePage{
		ContentType: "text/html",
		Locale:      locale,
		Content:     out.String(),
		Thanks:      v.Paragraphs(pdf.Thanks),
	}, nil
}

// fill sets the values of a lead's page.
func (r *Resolver) fill(ctx context.Context, v *view, l *lead.Lead) error {
	document, _ := r.PDFs.Summarized(ctx, l, v.Locale)
	summary, err := pdf.Summarize(&document, lead.OneLine, nil)
	if err != nil {
		return err
	}

	v.Summary = summary
	v.Accent = template.CSS(document.Company.AccentColor()) //nolint:gosec // a color
	if logo := document.Company.Logo; logo != nil {
		v.Logo = template.URL("data:" + http.DetectContentType(logo) + ";base64," + //nolint:gosec // an image
			base64.StdEncoding.EncodeToString(logo))
	}
	// The links are relative: a proxy may serve the page below a path of its own.
	v.PDF = path.Base(l.PDFPath()) + "&locale=" + string(v.Locale)

	day := func(at time.Time) string { return v.Words.DateOf(at.In(document.CreatedAt.Location())) }
	for _, c := range l.Consents {
		shown := consent{Purpose: c.Purpose, Wording: v.wording(c, document.Labels)}
		if c.WithdrawnAt != nil {
			shown.Withdrawn = fmt.Sprintf(v.Words.Site.Withdrawn, day(*c.WithdrawnAt))
		}
		if c.Given || c.WithdrawnAt != nil {
			v.Consents = append(v.Consents, shown)
		}
	}
	switch {
	case l.DeletionOpen():
		v.Asked = fmt.Sprintf(v.Words.Site.Asked, day(l.DeletionRequestedAt))
	case !l.DeletionRequestedAt.IsZero():
		v.Asked = fmt.Sprintf(v.Words.Site.Declined, day(l.DeletionRequestedAt), day(l.DeletionDeclinedAt))
		for line := range strings.Lines(l.DeletionReason) {
			v.Reason = append(v.Reason, lead.OneLine(line))
		}
		v.Reason = append(v.Reason, v.Words.Site.Complain)
	}
	return nil
}

// maxTyped is the length at which a wording is cut that is not the site's: a stranger may have
// written anything there.
const maxTyped = 120

// wording returns the words that a visitor agreed to, or else the name of the purpose.
func (v *view) wording(c lead.Consent, labels map[string]string) string {
	text := lead.OneLine(c.Text)
	if text == "" && c.Purpose == lead.SaveProgress {
		return v.Words.Site.SaveProgress
	}
	if text == "" {
		return lead.OneLine(pdf.Label(c.Purpose, labels))
	}
	if letters := []rune(text); !c.SiteWording && len(letters) > maxTyped {
		text = strings.TrimSpace(string(letters[:maxTyped])) + "…"
	}
	return text
}

// WithdrawQuoteConsent resolves withdrawQuoteConsent. The withdrawal covers all leads of the
// address. The response depends on this lead alone, so it reveals nothing of the others.
func (r *Resolver) WithdrawQuoteConsent(
	ctx context.Context, id, purpose string, locale *schema.Locale,
) (*schema.QuotePageAction, error) {
	return r.act(ctx, id, locale, schema.AuditActionWithdrawn, map[string]any{"purpose": purpose},
		func(entry store.AuditEntry) (bool, error) {
			return r.Store.WithdrawLeadConsent(ctx, id, purpose, entry.At, entry)
		})
}

// RequestQuoteDeletion resolves requestQuoteDeletion.
func (r *Resolver) RequestQuoteDeletion(
	ctx context.Context, id string, locale *schema.Locale,
) (*schema.QuotePageAction, error) {
	return r.act(ctx, id, locale, schema.AuditActionDeletionRequested, nil,
		func(entry store.AuditEntry) (bool, error) {
			return r.Store.RequestDeletion(ctx, id, entry.At, entry)
		})
}

// act changes a lead with an audit entry of the visitor, and returns to its page. If there
// is no such lead, the error comes with the page that says so. A browser that shows the
// page of another site is refused by every endpoint.
func (r *Resolver) act(
	ctx context.Context, id string, locale *schema.Locale, action schema.AuditAction, detail map[string]any,
	change func(entry store.AuditEntry) (bool, error),
) (*schema.QuotePageAction, error) {
	if site := request.CallerFrom(ctx).Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return nil, schema.NewError(schema.CodeForbidden, "Only the page of the quote may do this.")
	}

	entry := r.Operators.Entry(ctx, action, id, detail)
	entry.Actor, entry.Name = Visitor, ""
	entry.At = time.Now().UTC().Truncate(time.Millisecond)

	changed, err := change(entry)
	if errors.Is(err, store.ErrNotFound) {
		_, err = r.QuotePage(ctx, id, locale)
	}
	if err != nil {
		return nil, err
	}

	address := url.Values{"id": {id}}
	if locale != nil {
		address.Set("locale", string(*locale))
	}
	return &schema.QuotePageAction{Changed: changed, URL: "/api/quote/page?" + address.Encode()}, nil
}
