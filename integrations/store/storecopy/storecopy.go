// Package storecopy moves the contents of one store into another: sessions, leads
// with their idempotency keys, unfinished deliveries, what was invalidated last, the rules
// of prices, and the audit.
//
// Stop the service before the last copy, because a copy does not see later writes to the
// old store. A copy may be interrupted and repeated: rows that the new store already has
// stay, and newer ones are added. A lead that is erased from the old store after it
// was copied has to be erased from the new one as well.
package storecopy

import (
	"context"
	"fmt"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// Store is the type that the stores of all drivers embed.
type Store = sqlstore.Store

// Report counts what was copied.
type Report struct {
	Sessions int64 // sessions read from the old store
	Leads    int64 // leads read from the old store
	Created  int64 // leads that were new in the new store
	Enqueued int64 // new leads whose deliveries were created again
}

// Copy copies everything in from to the store to. unfinished returns the unfinished
// deliveries of the given leads, which are created again: no other, since a mail
// must not be sent twice. If Copy ends with an error, the report counts what was copied
// before it.
func Copy(
	ctx context.Context,
	from, to *Store,
	unfinished func(ctx context.Context, leadIDs []string) ([]store.Delivery, error),
) (r Report, err error) {
	// Leads first: they matter most if the copy is interrupted.
	err = sqlstore.InChunks(from.KeyedLeads(ctx), func(leads []sqlstore.KeyedLead) error {
		var ids []string
		for _, l := range leads {
			// A lead in review has no deliveries until it is released.
			if l.Lead.Review == 0 {
				ids = append(ids, l.Lead.ID)
			}
		}

		pending, err := unfinished(ctx, ids)
		if err != nil {
			return fmt.Errorf("looking for unfinished deliveries: %w", err)
		}

		created, enqueued, err := to.ImportLeads(ctx, leads, pending)
		if err != nil {
			return err
		}

		r.Leads += int64(len(leads))
		r.Created += int64(created)
		r.Enqueued += int64(enqueued)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the submissions: %w", err)
	}

	err = sqlstore.InChunks(from.SessionRows(ctx), func(rows []sqlstore.SessionRow) error {
		if err := to.ImportSessions(ctx, rows); err != nil {
			return err
		}
		r.Sessions += int64(len(rows))
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the sessions: %w", err)
	}

	generations, err := from.Generations(ctx)
	if err == nil {
		err = to.ImportGenerations(ctx, generations)
	}
	if err != nil {
		return r, fmt.Errorf("copying the invalidations: %w", err)
	}

	key, consents, err := from.ConsentRows(ctx)
	if err == nil {
		err = to.ImportConsents(ctx, key, consents)
	}
	if err != nil {
		return r, fmt.Errorf("copying the consents: %w", err)
	}

	rows, err := from.PriceRows(ctx)
	if err == nil {
		err = to.ImportPrices(ctx, rows)
	}
	if err != nil {
		return r, fmt.Errorf("copying the rules of prices: %w", err)
	}

	if err := to.CopyAudit(ctx, from); err != nil {
		return r, fmt.Errorf("copying the audit, last of all: %w", err)
	}
	return r, nil
}
