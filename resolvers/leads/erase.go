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

// erasure removes everything that is stored about a person, or about one lead of a person
// whose other leads stay.
type erasure struct {
	*Resolver
	email     string      // the given address; empty: only a lead is erased
	reference string      // of that lead
	leads     []lead.Lead // those in the database
	spellings []string    // possible spellings of the address in the CMS and the CRM
	typed     []string    // other addresses of the leads, which may be other people's
	known     []string    // ids of the leads in the database or the CMS
	remains   []string    // what stays, although it was found
	entry     store.AuditEntry
}

// EraseLeads resolves the root field `eraseLeads`. It searches all places for data about
// an e-mail address or a lead and, unless this is a dry run, erases it. The receipt
// reports failures.
//
// An interrupted erasure can be repeated. Deliveries are ended first, so that no erased
// data is sent again. The CMS, the CRM and mail files follow, then the database, which
// has the ids to search for. The cache is last, so that no request fills it again. After a
// failure, the data that is left in the database and the cache stays for the repetition.
//
// Each lead is erased together with its audit entry. If no lead is stored, there is one
// entry without a lead. A dry run is recorded like a listing of leads.
func (r *Resolver) EraseLeads(
	ctx context.Context, email, name *string, dryRun bool,
) (*schema.ErasureReceipt, error) {
	e := &erasure{Resolver: r, entry: r.Operators.Entry(ctx, schema.AuditActionErased, "", nil)}
	if err := e.find(ctx, schema.ValueOr(email, ""), schema.ValueOr(name, "")); err != nil {
		return nil, err
	}
	if dryRun {
		detail := operators.ListDetail(ctx, len(e.leads))
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

	if len(e.leads) == 0 {
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

// find finds the leads of an address, or the lead that a person names. The only lead of its
// person is erased with all data about the address.
func (e *erasure) find(ctx context.Context, email, name string) error {
	if (email == "") == (name == "") {
		return schema.BadRequest("Either `email` or `lead` must be given.")
	}
	if email != "" {
		e.email = crm.Address(schema.CleanEmail(email))
		return e.findLeads(ctx)
	}

	l, err := e.Find(ctx, name)
	if err != nil {
		return err
	}
	address := crm.Address(l.Address())
	found, _, err := e.list(ctx, store.Filter{Email: address})
	if err != nil {
		return fmt.Errorf("looking for other leads: %w", err)
	}
	if len(found) == 1 {
		e.email = address
		return e.findLeads(ctx)
	}
	e.reference = lead.Reference(l.ID)
	e.setLeads(address, []lead.Lead{l})
	return nil
}

// findLeads finds the leads of the given address in the database, and its spellings.
func (e *erasure) findLeads(ctx context.Context) error {
	found, _, err := e.list(ctx, store.Filter{Email: e.email})
	if err != nil {
		return fmt.Errorf("looking for leads: %w", err)
	}

	e.setLeads(e.email, found)
	e.spellings = []string{e.email, mailbox.Key(e.email)}
	for _, l := range found {
		for _, address := range []string{l.Contact.Email, l.Address()} {
			if mailbox.Key(address) == mailbox.Key(e.email) {
				e.spellings = append(e.spellings, crm.Address(address))
			}
		}
	}
	e.spellings = unique(e.spellings)
	return nil
}

// setLeads sets the leads to erase, and their addresses that are not the person's.
func (e *erasure) setLeads(email string, found []lead.Lead) {
	e.leads, e.known = found, idsOf(found)
	for _, l := range found {
		if address := crm.Address(l.Contact.Email); mailbox.Key(address) != mailbox.Key(email) {
			e.typed = append(e.typed, address)
		}
	}
	e.typed = unique(e.typed)
}

// outside returns the places outside the leads' tables: deliveries and their targets.
func (e *erasure) outside() []*place {
	deliveries := 0
	for _, l := range e.leads {
		for _, d := range l.Deliveries {
			if !d.OutlivesLead() {
				deliveries++
			}
		}
	}

	return []*place{
		newPlace(schema.ErasurePlaceNameDeliveries, "deliveries",
			func(context.Context) (int, error) { return deliveries, nil }, e.endDeliveries),
		newPlace(schema.ErasurePlaceNameCms, "documents", e.findDocuments,
			func(ctx context.Context) (int, error) {
				return 0, e.CMS.Erase(ctx, e.known)
			}),
		e.deals(),
		e.contacts(),
		newPlace(schema.ErasurePlaceNameMail, "files",
			func(context.Context) (int, error) { return e.MailFiles.Count(e.known) },
			func(context.Context) (int, error) { return e.MailFiles.Erase(e.known) }),
	}
}

// inside returns the places in the database and the cache.
func (e *erasure) inside() []*place {
	count := func(number func(consents, sessions int64) int64) counting {
		return func(ctx context.Context) (int, error) {
			consents, sessions, err := e.Store.CountPerson(ctx, e.email, idsOf(e.leads))
			return int(number(consents, sessions)), err
		}
	}

	// The log of the database contains the erased data until it is truncated.
	eraseAddress := func(ctx context.Context) (int, error) {
		_, _, err := e.Store.EraseAddress(ctx, e.email)
		return 0, errors.Join(err, e.Truncate(ctx))
	}

	pdfs := newPlace(schema.ErasurePlaceNameCache, "PDFs", nil, e.ClearPDFs)
	pdfs.Detail = new("PDFs of all visitors; the others are rendered again on request")

	return []*place{
		newPlace(schema.ErasurePlaceNameDatabase, "leads",
			func(context.Context) (int, error) { return len(e.leads), nil }, e.eraseLeads),
		newPlace(schema.ErasurePlaceNameDatabase, "sessions",
			count(func(_, sessions int64) int64 { return sessions }), eraseAddress),
		newPlace(schema.ErasurePlaceNameDatabase, "consents",
			count(func(consents, _ int64) int64 { return consents }), eraseAddress),
		e.announced(),
		pdfs,
	}
}

// announced returns the place of the leads that the webhook may have got. The erasure of
// each lead notifies it; those that are left then have no receiver any more.
func (e *erasure) announced() *place {
	count := func(ctx context.Context) (int, error) { return e.Store.CountAnnounced(ctx, e.email, e.known) }
	p := newPlace(schema.ErasurePlaceNameWebhook, "announced leads", count, nil)
	p.end = placeAnnounced
	p.erase = func(ctx context.Context) (int, error) {
		left, err := count(ctx)
		if err == nil && left > 0 {
			err = errors.New("the receiver of these leads is not notified: LEAD_WEBHOOK_URL is not " +
				"set, or leads to Slack")
		}
		return 0, err
	}
	return p
}

// receipt sums up the results.
func (e *erasure) receipt(places []*place, dryRun bool) *schema.ErasureReceipt {
	r := &schema.ErasureReceipt{
		Email:      schema.Optional(e.email),
		Lead:       schema.Optional(e.reference),
		DryRun:     dryRun,
		FinishedAt: time.Now().UTC().Truncate(time.Second),
		Remains:    slices.Concat(e.remains, e.OutOfReach()),
	}

	for _, p := range places {
		r.Places = append(r.Places, &p.ErasurePlace)
		r.Remains = append(p.remains, r.Remains...)
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

// endDeliveries ends the deliveries and waits for running attempts, at most
// [lead.Target.AttemptTime], after which the store considers them over. Half of the time
// until the deadline of ctx, if there is one, is reserved for the other places.
func (e *erasure) endDeliveries(ctx context.Context) (ended int, err error) {
	limit := lead.SalesMail.AttemptTime() + time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, limit,
		errors.New("a delivery attempt is still running: erase again in three minutes"))
	defer cancel()

	for len(e.leads) > 0 {
		n, running, err := e.Store.EndDeliveries(ctx, idsOf(e.leads))
		ended += n
		if err != nil {
			return ended, err
		}
		if running == 0 {
			e.leads, _, err = e.list(ctx, store.Filter{IDs: idsOf(e.leads)}) // with all their records
			return ended, err
		}

		select {
		case <-waiting.Done():
			return ended, context.Cause(waiting)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ended, nil
}

// Sentences of the receipt about what stays, each followed by names. The inbox translates
// them.
const (
	keptDeals  = "the CRM keeps these without the person, because sales moved them on"
	keptCopies = "deals that people copied, without our personal properties; the CRM's history " +
		"may have former values"
	keptContacts = "contacts that people maintain or others have, without our properties; the CRM's " +
		"history may have former values"
	keptOthers = "documents in the CMS with this address, whose leads have another one"
	otherDeals = "deals with this address, whose leads have another one"
)

// Kept lists these sentences.
func Kept() []string { return []string{keptDeals, keptCopies, keptContacts, keptOthers, otherDeals} }

// sentence returns a sentence with names, or nothing without names.
func sentence(words string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{words + ": " + strings.Join(unique(names), ", ")}
}

// findDocuments searches by address, since the leads may already be erased from the
// database. The documents of stored leads are erased as well, since an editor may have
// changed their address. For the same reason those of other stored leads stay.
func (e *erasure) findDocuments(ctx context.Context) (int, error) {
	var found []string
	for _, email := range e.spellings {
		ids, err := e.CMS.Find(ctx, email)
		if err != nil {
			return 0, err
		}
		found = append(found, ids...)
	}
	// Without an id, all leads would match.
	stored, _, err := e.list(ctx, store.Filter{IDs: append(found, "")})
	if err != nil {
		return 0, err
	}

	own := idsOf(e.leads)
	var others []string
	for _, id := range idsOf(stored) {
		if !slices.Contains(own, id) {
			others = append(others, lead.Reference(id))
			found = slices.DeleteFunc(found, func(other string) bool { return other == id })
		}
	}
	e.remains = append(e.remains, sentence(keptOthers, others)...)
	e.known = unique(slices.Concat(found, own))

	missing, err := e.CMS.Missing(ctx, own)
	stays := func(id string) bool { return slices.Contains(found, id) || !slices.Contains(missing, id) }
	return len(slices.DeleteFunc(slices.Clone(e.known), func(id string) bool { return !stays(id) })), err
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// eraseLeads erases the leads from the database. It fails if another lead of the address
// arrived during the erasure: that lead may have been delivered.
func (e *erasure) eraseLeads(ctx context.Context) (int, error) {
	for _, l := range e.leads {
		e.entry.Lead = l.ID
		if err := e.Store.Erase(ctx, l.ID, e.entry); err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
	}

	erased := len(e.leads)
	if e.email == "" {
		return erased, nil
	}
	arrived, _, err := e.list(ctx, store.Filter{Email: e.email, Limit: 1})
	if err == nil && len(arrived) > 0 {
		err = errors.New("a lead arrived in the meantime: erase again")
	}
	if err != nil {
		return 0, err
	}
	return erased, nil
}
