package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// States of a place in the receipt.
const (
	placeUnknown = "unknown"
	placeEmpty   = "nothing there"
	placeFound   = "found" // data was found and not erased
	placeErased  = "erased"
	placeFailed  = "failed" // searching or erasing failed
	placeKept    = "kept"   // kept for the next erasure, because another place failed
)

// place is a system that may store data about an address, with its entry in the receipt.
type place struct {
	schema.ErasurePlace
	find  counting // counts the data; nil: not searchable
	erase counting // may also erase and count data that find missed
}

// counting finds or erases data about an address and returns the number of items.
type counting = func(context.Context) (int, error)

// erasure removes everything that is stored about an address.
type erasure struct {
	*Resolver
	email      string   // the given spelling
	spellings  []string // possible spellings of the address in the CMS and the CRM
	shared     []string // copies that stay because other leads share them
	entry      store.AuditEntry
	stored     []string // ids of the leads in the database
	known      []string // ids of the leads in the database or the CMS
	deliveries int      // number of their deliveries
}

// Erase resolves the root field `eraseLeads`. It searches all places for data about an e-mail address and, unless this is a dry
// run, erases it. The receipt reports failures.
//
// An interrupted erasure can be repeated. Deliveries are removed first, so that no erased
// data is sent again. The CMS, the CRM and mail files follow, then the database, which
// has the ids to search for. The cache is last, so that no request fills it again. After a
// failure, the data that is left in the database and the cache stays for the repetition.
//
// Each lead is erased together with its audit entry. If no lead is stored, there is one
// entry without a lead. A dry run is recorded like a listing of leads.
func (r *Resolver) Erase(ctx context.Context, email string, dryRun bool) (*schema.ErasureReceipt, error) {
	e := &erasure{
		Resolver: r,
		email:    crm.Address(schema.CleanEmail(email)),
		entry:    r.Operators.Entry(ctx, schema.AuditActionErased, "", nil),
	}
	if err := e.findLeads(ctx); err != nil {
		return nil, err
	}
	if dryRun {
		detail := operators.ListDetail(ctx, len(e.stored))
		if err := r.Operators.Record(ctx, schema.AuditActionListed, "", detail); err != nil {
			return nil, err
		}
	}

	outside, inside := e.outside(), e.inside()
	places := slices.Concat(outside, inside)
	for _, p := range places {
		p.search(ctx)
	}
	if dryRun {
		return e.receipt(places, dryRun), nil
	}

	if len(e.stored) == 0 {
		if err := r.Store.Record(ctx, e.entry); err != nil {
			return nil, err
		}
	}
	failed := false
	for i, p := range places {
		if failed && i >= len(outside) {
			p.State = placeKept
			continue
		}
		p.run(ctx)
		failed = failed || p.State == placeFailed
	}
	return e.receipt(places, dryRun), nil
}

// findLeads finds the leads in the database, and the spellings of their addresses. An address
// that was corrected and that other leads have may be another person's: its data stay.
func (e *erasure) findLeads(ctx context.Context) error {
	leads, _, err := e.list(ctx, store.Filter{Email: e.email})
	if err != nil {
		return fmt.Errorf("looking for leads: %w", err)
	}

	e.stored, e.known = idsOf(leads), idsOf(leads)
	e.spellings = []string{e.email, mailbox.Key(e.email)}
	for _, l := range leads {
		e.deliveries += len(l.Deliveries)
		address := crm.Address(l.Contact.Email)
		typed, _, err := e.list(ctx, store.Filter{Email: address})
		if err != nil {
			return fmt.Errorf("looking for other leads: %w", err)
		}
		if slices.ContainsFunc(typed, func(l lead.Lead) bool { return !slices.Contains(e.stored, l.ID) }) {
			e.shared = append(e.shared, "the contact of "+address+" in the CRM, which other leads have")
		} else {
			e.spellings = append(e.spellings, address)
		}
	}
	e.spellings = unique(e.spellings)
	return nil
}

// outside returns the places outside the leads' tables: deliveries and their targets.
func (e *erasure) outside() []*place {
	return []*place{
		newPlace("deliveries", "deliveries",
			func(context.Context) (int, error) { return e.deliveries, nil }, e.endDeliveries),
		newPlace("cms", "documents", e.findDocuments, func(ctx context.Context) (int, error) {
			return 0, e.CMS.Erase(ctx, e.known)
		}),
		e.deals(),
		newPlace("crm", "contacts", e.findContacts, e.eraseContacts),
		newPlace("mail", "files",
			func(context.Context) (int, error) { return e.MailFiles.Count(e.known) },
			func(context.Context) (int, error) { return e.MailFiles.Erase(e.known) }),
	}
}

// inside returns the places in the database and the cache.
func (e *erasure) inside() []*place {
	count := func(number func(consents, sessions int64) int64) counting {
		return func(ctx context.Context) (int, error) {
			consents, sessions, err := e.Store.CountAddress(ctx, e.email)
			return int(number(consents, sessions)), err
		}
	}

	// The log of the database contains the erased data until it is truncated.
	eraseAddress := func(ctx context.Context) (int, error) {
		_, _, err := e.Store.EraseAddress(ctx, e.email)
		return 0, errors.Join(err, e.Truncate(ctx))
	}

	pdfs := newPlace("cache", "PDFs", nil, e.ClearPDFs)
	pdfs.Detail = new("PDFs of all visitors; the others are rendered again on request")

	return []*place{
		newPlace("database", "leads", func(context.Context) (int, error) { return len(e.stored), nil }, e.eraseLeads),
		newPlace("database", "sessions", count(func(_, sessions int64) int64 { return sessions }), eraseAddress),
		newPlace("database", "consents", count(func(consents, _ int64) int64 { return consents }), eraseAddress),
		pdfs,
	}
}

func newPlace(name, unit string, find, erase counting) *place {
	return &place{schema.ErasurePlace{Place: name, Unit: unit, State: placeUnknown}, find, erase}
}

// search counts the data of a place.
func (p *place) search(ctx context.Context) {
	if p.find == nil {
		return
	}

	n, err := p.find(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		p.Detail = new("its driver stores nothing: data that it passed on is not erased")
		n, err = 0, nil
	}
	if err != nil {
		p.fail(err)
		return
	}

	p.Found, p.State = &n, placeFound
	if n == 0 {
		p.State = placeEmpty
	}
}

// run erases the data of a place, unless its search failed.
func (p *place) run(ctx context.Context) {
	if p.State == placeFailed {
		return
	}

	n, err := p.erase(ctx)
	if err != nil {
		p.fail(err)
		return
	}
	n = max(n, schema.ValueOr(p.Found, 0))
	p.Found, p.Erased, p.State = &n, n, placeErased
	if n == 0 {
		p.State = placeEmpty
	}
}

func (p *place) fail(err error) {
	p.State, p.Detail = placeFailed, new(strings.Join(strings.Fields(err.Error()), " "))
}

// receipt sums up the results.
func (e *erasure) receipt(places []*place, dryRun bool) *schema.ErasureReceipt {
	r := &schema.ErasureReceipt{
		Email:      e.email,
		DryRun:     dryRun,
		FinishedAt: time.Now().UTC().Truncate(time.Second),
		Remains:    slices.Concat(e.OutOfReach, unique(e.shared)),
	}

	for _, p := range places {
		r.Places = append(r.Places, &p.ErasurePlace)
		switch p.State {
		case placeFound, placeKept:
			r.Left++
		case placeFailed:
			r.Failed++
		}
	}
	r.Complete = !dryRun && r.Failed == 0
	return r
}

// endDeliveries removes the deliveries and waits for running attempts, at most
// [lead.Target.AttemptTime], after which the store considers them over. Half of the time
// until the deadline of ctx, if there is one, is reserved for the other places.
func (e *erasure) endDeliveries(ctx context.Context) (removed int, err error) {
	limit := lead.SalesMail.AttemptTime() + time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, limit,
		errors.New("a delivery attempt is still running: erase again in three minutes"))
	defer cancel()

	for len(e.stored) > 0 {
		n, running, err := e.Store.RemoveDeliveries(ctx, e.stored)
		removed += n
		if err != nil || running == 0 {
			return removed, err
		}

		select {
		case <-waiting.Done():
			return removed, context.Cause(waiting)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return removed, nil
}

// findDocuments searches by address, since the leads may already be erased from the
// database. The documents of stored leads are erased as well, since an editor may have
// changed their address.
func (e *erasure) findDocuments(ctx context.Context) (int, error) {
	var found []string
	for _, email := range e.spellings {
		ids, err := e.CMS.Find(ctx, email)
		if err != nil {
			return 0, err
		}
		found = append(found, ids...)
	}

	e.known = unique(slices.Concat(found, e.stored))
	return len(unique(found)), nil
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// deals returns the place of the deals in the CRM. They are erased before the contacts
// that they are associated with.
func (e *erasure) deals() *place {
	p := newPlace("crm", "deals", func(ctx context.Context) (int, error) {
		found, err := e.CRM.FindDeals(ctx, e.known, e.spellings)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		return len(found), err
	}, nil)

	p.erase = func(ctx context.Context) (int, error) {
		kept, err := e.CRM.EraseDeals(ctx, e.known, e.spellings)
		for i, id := range kept {
			kept[i] = lead.Reference(id)
		}
		if len(kept) > 0 {
			p.Detail = new("the CRM keeps these without the person, because sales moved them on: " +
				strings.Join(kept, ", "))
		}
		return 0, err
	}
	return p
}

func (e *erasure) findContacts(ctx context.Context) (int, error) {
	missing, err := e.CRM.Missing(ctx, e.spellings)
	return len(e.spellings) - len(missing), err
}

func (e *erasure) eraseContacts(ctx context.Context) (int, error) {
	for _, email := range e.spellings {
		if err := e.CRM.Erase(ctx, email); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// eraseLeads erases the leads from the database. It fails if another lead arrived during
// the erasure: that lead may have been delivered.
func (e *erasure) eraseLeads(ctx context.Context) (int, error) {
	for _, id := range e.stored {
		e.entry.Lead = id
		if err := e.Store.Erase(ctx, id, e.entry); err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
	}

	erased := len(e.stored)
	if err := e.findLeads(ctx); err != nil {
		return 0, err
	}
	if len(e.stored) > 0 {
		return 0, errors.New("a lead arrived in the meantime: erase again")
	}
	return erased, nil
}
