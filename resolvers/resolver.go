// Package resolvers holds all behaviour of the service. The generated *.resolvers.go
// files only call the functions and methods of the files beside them, which use outside
// systems through the contracts in integrations. Both endpoints, GraphQL and REST, run
// the resolvers through package executor.
package resolvers

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/language"

	"siteapi/integrations/cache"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// Renderer draws the PDF summary of a quote. Equal documents give equal bytes.
type Renderer interface {
	Render(ctx context.Context, d pdf.Document) ([]byte, error)
}

// LogoLoader fetches a logo in a form that a Renderer can draw.
type LogoLoader interface {
	Load(ctx context.Context, url string) ([]byte, error)
}

// Deps are the dependencies and settings of the resolvers. A field is required unless its
// comment says otherwise.
type Deps struct {
	Content *content.Service
	Cache   cache.Cache

	Quotes store.Quotes
	Audit  store.Audit
	Prices store.Prices
	PDF    Renderer
	Logo   LogoLoader // optional: without it, documents have no logo
	Log    zerolog.Logger
	Now    func() time.Time
	NewID  func() string // returns an opaque id with at least 122 random bits

	Operators *leads.Service
	Checks    []health.Check // checks of this machine, for serviceHealth
	Version   string         // version of the program

	SessionRetention, LeadRetention, AuditRetention time.Duration // 0: unlimited

	// MinTime is the shortest plausible time from a session's first tracked state to its
	// lead. 0: any time is plausible.
	MinTime time.Duration

	// Challenge verifies the token of a bot check. nil: leads need no token.
	Challenge *turnstile.Verifier

	Development bool // report the names of the hints that trackQuote drops

	Mail Mail

	// Count counts events, such as "webhook", by a locale or an outcome. Optional.
	Count func(event, detail string)
}

// Resolver is the root of all resolvers.
type Resolver struct {
	Deps

	formats   *schema.Formats
	languages language.Matcher    // matches Accept-Language
	drawing   *semaphore.Weighted // limits how many documents are drawn at a time

	auditLogged string // the day on which the head of the audit was logged last
}

// New returns the resolvers over their dependencies.
func New(d Deps) *Resolver {
	if d.Count == nil {
		d.Count = func(string, string) {}
	}

	return &Resolver{
		Deps:      d,
		formats:   schema.NewFormats(),
		languages: newLanguages(),
		drawing:   semaphore.NewWeighted(int64(2 * runtime.GOMAXPROCS(0))),
	}
}

// DeleteOld deletes sessions and leads that are older than their retention.
func (r *Resolver) DeleteOld(ctx context.Context) {
	r.deleteOld(ctx, "sessions", r.SessionRetention, r.Operators.Archive.PruneSessions)
	r.deleteOld(ctx, "submissions", r.LeadRetention, r.Operators.Archive.PruneLeads)
	r.keepAudit(ctx)
	if _, err := r.Mail.Claims.PruneMails(ctx, r.Now().Add(-mailHashLife)); err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old counts of mails")
	}
}

// deleteOld deletes everything older than a retention. A retention of 0 deletes nothing.
func (r *Resolver) deleteOld(
	ctx context.Context,
	what string,
	retention time.Duration,
	prune func(context.Context, time.Time) (int64, error),
) {
	if retention == 0 {
		return
	}

	n, err := prune(ctx, time.Now().Add(-retention))
	if n > 0 { // some may have been deleted despite an error
		r.Log.Info().Int64(what, n).Msg("deleted old " + what)
		err = errors.Join(err, r.ForgetPDFs(ctx))
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Error().Err(err).Msg("deleting old " + what)
	}
}
