package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// leadsAtOnce is the number of leads whose deliveries are removed in one transaction.
const leadsAtOnce = 100

// The states of the places of a receipt.
const (
	placeUnknown = "unknown"
	placeEmpty   = "nothing there"
	placeFound   = "found" // something is there and was not erased
	placeErased  = "erased"
	placeFailed  = "failed" // searching or erasing failed
	placeKept    = "kept"   // kept for a repetition, because another place failed
)

// erasure removes everything that is stored about an address.
type erasure struct {
	*Service
	email   string   // the given spelling
	spelled []string // the address as the CMS and the CRM may have it
	entry   store.AuditEntry
	receipt *schema.ErasureReceipt
	stored  []string // ids of the leads in the database
	known   []string // ids of the leads in the database or the CMS

	// The entries of the receipt, in its order.
	deliveries, documents, contact, mails, leads, sessions, consents, pdfs *schema.ErasurePlace
}

// Erase looks everywhere for data about an e-mail address and, unless this is a dry run,
// erases it. The receipt reports failures.
//
// An interrupted erasure can be repeated. Deliveries end first, so that nothing is sent
// after it was erased. The CMS and the CRM follow, then the database, which has the ids
// to look for, and last the cache, so that no request fills it again.
//
// Each lead is erased together with an entry of the audit, made from the given one. Where
// none is stored that entry is recorded itself.
func (s *Service) Erase(
	ctx context.Context, email string, dryRun bool, audit store.Audit, entry store.AuditEntry,
) (*schema.ErasureReceipt, error) {
	e := &erasure{Service: s, email: crm.Address(schema.TrimEmail(email)), entry: entry}
	e.receipt = &schema.ErasureReceipt{Email: e.email, DryRun: dryRun, Remains: s.OutOfReach}

	if err := e.look(ctx); err != nil {
		return nil, err
	}
	if !dryRun {
		if len(e.stored) == 0 {
			if err := audit.Record(ctx, entry); err != nil {
				return nil, err
			}
		}
		e.erase(ctx)
	}

	for _, p := range e.receipt.Places {
		switch p.State {
		case placeFound, placeKept:
			e.receipt.Left++
		case placeFailed:
			e.receipt.Failed++
		}
	}
	e.receipt.Complete = !dryRun && e.receipt.Failed == 0
	e.receipt.FinishedAt = time.Now().UTC().Truncate(time.Second)
	return e.receipt, nil
}

// erase erases what was found. The leads stay if data outside could not be erased.
func (e *erasure) erase(ctx context.Context) {
	e.eraseOutside(ctx)
	failed := func(p *schema.ErasurePlace) bool { return p.State == placeFailed }
	if !slices.ContainsFunc(e.receipt.Places, failed) {
		e.eraseInside(ctx)
		return
	}
	for _, inside := range []*schema.ErasurePlace{e.leads, e.sessions, e.consents, e.pdfs} {
		inside.State = placeKept
	}
}

// look counts what there is. It fails if the database cannot tell the leads.
func (e *erasure) look(ctx context.Context) (err error) {
	if e.stored, err = e.findLeads(ctx); err != nil {
		return err
	}
	e.known = e.stored
	e.spelled = append(e.spelled, e.email, mailbox.Key(e.email))
	slices.Sort(e.spelled)
	e.spelled = slices.Compact(e.spelled)

	e.deliveries = e.search(ctx, "deliveries", "deliveries", e.findDeliveries)
	e.documents = e.search(ctx, "cms", "documents", e.findDocuments)
	e.contact = e.search(ctx, "crm", "contacts", e.findContact)
	e.mails = e.search(ctx, "mail", "files", func(context.Context) (int, error) {
		return e.Mails.Count(e.known)
	})
	e.leads = e.search(ctx, "database", "leads",
		func(context.Context) (int, error) { return len(e.stored), nil })

	consents, sessions, err := e.Archive.CountAddress(ctx, e.email)
	e.sessions = e.search(ctx, "database", "sessions",
		func(context.Context) (int, error) { return int(sessions), err })
	e.consents = e.search(ctx, "database", "consents",
		func(context.Context) (int, error) { return int(consents), err })
	e.pdfs = e.search(ctx, "cache", "PDFs", nil) // a cache can't be searched
	return nil
}

// eraseOutside ends the deliveries, and erases what was delivered before.
func (e *erasure) eraseOutside(ctx context.Context) {
	err := e.withdraw(ctx, &e.deliveries.Erased)
	e.erased(e.deliveries, e.deliveries.Erased, err)

	if e.documents.State != placeFailed {
		e.erased(e.documents, *e.documents.Found, e.CMS.Erase(ctx, e.known))
	}
	if e.contact.State != placeFailed {
		e.erased(e.contact, *e.contact.Found, e.eraseContacts(ctx))
	}
	if e.mails.State != placeFailed {
		removed, err := e.Mails.Erase(e.known)
		e.erased(e.mails, removed, err)
	}
}

// eraseInside erases from the database and the cache.
func (e *erasure) eraseInside(ctx context.Context) {
	err := e.eraseLeads(ctx, &e.leads.Erased)
	e.erased(e.leads, e.leads.Erased, err)

	// The log of the database holds the erased data until it is truncated. Some went with
	// their leads.
	consents, sessions, err := e.Archive.EraseAddress(ctx, e.email)
	err = errors.Join(err, e.Truncate(ctx))
	e.erased(e.consents, max(int(consents), *e.consents.Found), err)
	e.erased(e.sessions, max(int(sessions), *e.sessions.Found), err)

	removed, err := e.ClearPDFs(ctx, pdfPattern(e.known))
	e.erased(e.pdfs, removed, err)
}

// search adds an entry for a place to the receipt, with the number of items that find
// counts there. The state remains unknown if find is nil.
func (e *erasure) search(
	ctx context.Context, name, unit string, find func(context.Context) (int, error),
) *schema.ErasurePlace {
	p := &schema.ErasurePlace{Place: name, Unit: unit, State: placeUnknown}
	e.receipt.Places = append(e.receipt.Places, p)
	if find == nil {
		return p
	}

	n, err := find(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		n, p.State = 0, placeEmpty
		p.Detail = schema.Optional("its driver keeps nothing: what it has passed on is not erased")
	case err != nil:
		fail(p, err)
		return p
	case n == 0:
		p.State = placeEmpty
	default:
		p.State = placeFound
	}
	p.Found = &n
	return p
}

// erased records in an entry of the receipt how many items were removed, or why removing
// them failed.
func (e *erasure) erased(p *schema.ErasurePlace, n int, err error) {
	if err != nil {
		fail(p, err)
		return
	}
	if p.Found == nil || *p.Found < n {
		p.Found = &n
	}
	if p.State, p.Erased = placeErased, n; *p.Found == 0 {
		p.State = placeEmpty
	}
}

func fail(p *schema.ErasurePlace, err error) {
	p.State, p.Detail = placeFailed, schema.Optional(strings.Join(strings.Fields(err.Error()), " "))
}

func (e *erasure) findLeads(ctx context.Context) (ids []string, err error) {
	for s, err := range e.Archive.Leads(ctx, store.Filter{Email: e.email}) {
		if err != nil {
			return nil, fmt.Errorf("looking for leads: %w", err)
		}
		ids = append(ids, s.ID)
		e.spelled = append(e.spelled, crm.Address(s.Contact.Email))
	}
	return ids, nil
}

func (e *erasure) findDeliveries(ctx context.Context) (int, error) {
	if len(e.stored) == 0 {
		return 0, nil
	}
	list, err := e.Deliveries.ListDeliveries(ctx, store.DeliveryFilter{Leads: e.stored})
	return len(list), err
}

// findDocuments searches by the ids in the database, since an editor may have changed an
// address, and by the address, since the database may have erased the lead already.
func (e *erasure) findDocuments(ctx context.Context) (n int, err error) {
	var found []string
	for _, email := range e.spelled {
		ids, err := e.CMS.Find(ctx, email)
		if err != nil {
			return 0, err
		}
		found = append(found, ids...)
	}
	missing, err := e.CMS.Missing(ctx, e.stored)
	if err != nil {
		return 0, err
	}

	e.known = slices.Compact(slices.Sorted(slices.Values(slices.Concat(found, e.stored))))
	for _, id := range e.known {
		if slices.Contains(found, id) || !slices.Contains(missing, id) {
			n++
		}
	}
	return n, nil
}

func (e *erasure) findContact(ctx context.Context) (int, error) {
	missing, err := e.CRM.Missing(ctx, e.spelled)
	return len(e.spelled) - len(missing), err
}

func (e *erasure) eraseContacts(ctx context.Context) error {
	for _, email := range e.spelled {
		if err := e.CRM.Erase(ctx, email); err != nil {
			return err
		}
	}
	return nil
}

// withdraw ends the deliveries, counts them, and waits for attempts that are running. An
// attempt that still runs after [store.AttemptLost] belongs to a process that crashed. If
// ctx ends earlier, an attempt that is still running is an error.
func (e *erasure) withdraw(ctx context.Context, removed *int) error {
	until, patient := time.Now().Add(store.AttemptLost), true
	if end, ok := ctx.Deadline(); ok && end.Before(until) {
		until, patient = time.Now().Add(time.Until(end)/2), false // leave time for the other steps
	}

	for {
		running := 0
		for some := range slices.Chunk(e.stored, leadsAtOnce) {
			n, busy, err := e.Deliveries.RemoveDeliveries(ctx, some)
			if err != nil {
				return err
			}
			*removed, running = *removed+n, running+busy
		}

		switch late := time.Now().After(until); {
		case running == 0, late && patient:
			return nil
		case late:
			return errors.New("a delivery is being tried: erase again in a minute")
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// eraseLeads erases the leads from the database, and counts them.
func (e *erasure) eraseLeads(ctx context.Context, erased *int) error {
	for _, id := range e.stored {
		e.entry.Lead = id
		if err := e.Archive.Erase(ctx, id, e.entry); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		*erased++
	}

	left, err := e.findLeads(ctx)
	if err == nil && len(left) > 0 {
		err = errors.New("a lead arrived in the meantime: erase again")
	}
	return err
}

// pdfPattern matches the cached PDFs of one lead. For several leads, or none, it matches
// all PDFs: those of other leads are drawn again, and an earlier erasure may have been
// interrupted after it had removed the ids.
func pdfPattern(ids []string) cache.Pattern {
	if len(ids) != 1 {
		return lead.PDFKeys + "*"
	}
	return cache.Pattern(cache.Escape(lead.PDFKey(ids[0])) + "*")
}
