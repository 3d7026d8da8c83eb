package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// NoteAnnounced stores that the webhook may know a lead from now on, and is to be notified of
// what happens to it. It is called before the lead is handed over.
func (s *Store) NoteAnnounced(ctx context.Context, l *lead.Lead) error {
	return s.write(ctx, "recording that a lead is announced", func(ctx context.Context, tx Tx) error {
		address, err := addressHash(ctx, tx, l.Address())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO announced_leads (lead_id, address)
SELECT id, $2 FROM leads WHERE id = $1
ON CONFLICT (lead_id) DO UPDATE SET address = excluded.address`, l.ID, address)
		return err
	})
}

// correctAddress notifies the targets of a corrected address. The announced lead and its
// consents, which may outlive the lead, are found under it from now on.
func correctAddress(ctx context.Context, tx Tx, leadID, corrected string) error {
	address, err := addressHash(ctx, tx, corrected)
	if err != nil {
		return err
	}
	for _, table := range []string{"announced_leads", "consents"} {
		if _, err = tx.Exec(ctx, `UPDATE `+table+` SET address = $2 WHERE lead_id = $1`,
			leadID, address); err != nil {
			return err
		}
	}
	return notify(ctx, tx, leadID, lead.Corrected, lead.EventDetail{})
}

// notify creates the deliveries of an event to the targets that want it.
func notify(ctx context.Context, tx Tx, leadID string, event lead.Event, detail lead.EventDetail) error {
	announced, err := one[bool](ctx, tx, "finding out whether the lead was announced",
		`SELECT EXISTS (SELECT 1 FROM announced_leads WHERE lead_id = $1) AS announced`, leadID)
	if err != nil {
		return err
	}
	return notifyTargets(ctx, tx, leadID, event, detail, announced)
}

func notifyTargets(
	ctx context.Context, tx Tx, leadID string, event lead.Event, detail lead.EventDetail, announced bool,
) error {
	targets := tx.TargetsOf(event, announced)
	if len(targets) == 0 {
		return nil
	}
	list, err := tx.Enqueue(ctx, []string{leadID}, targets...)
	if err != nil {
		return err
	}

	for _, d := range list {
		_, err := tx.Exec(ctx, `INSERT INTO deliveries
(lead_id, target, job, max_attempts, created_at, due_at, next_at, state, event, detail, number)
SELECT $1, $2, $3, $4, $5, $5, $5, $6, $7, $8, coalesce(max(number + sending), 0) + 1 FROM deliveries
WHERE lead_id = $1 AND target = $2 AND event = $7`,
			d.LeadID, d.Target, d.Job, d.MaxAttempts, d.CreatedAt, d.State, event, detail)
		if err != nil {
			return err
		}
	}
	return nil
}

// notifyErased notifies the targets of the erasure of announced leads that match a
// condition, which thereby cease to be announced. Without a target they stay so.
func notifyErased(ctx context.Context, tx Tx, which string, args ...any) error {
	if len(tx.TargetsOf(lead.Erased, true)) == 0 {
		return nil
	}
	ids, err := all[string](ctx, tx, "finding announced leads",
		`DELETE FROM announced_leads WHERE `+which+` RETURNING lead_id`, args...)
	for i := 0; err == nil && i < len(ids); i++ {
		err = notifyTargets(ctx, tx, ids[i], lead.Erased, lead.EventDetail{}, true)
	}
	return err
}

// CountAnnounced counts the leads that the webhook may have got: those with the given ids,
// and those of an address, also if PruneLeads erased them.
func (s *Store) CountAnnounced(ctx context.Context, email string, leadIDs []string) (int, error) {
	address, err := s.hashOf(ctx, email)
	if err != nil {
		return 0, err
	}
	var c conditions
	addIn(&c, "lead_id", append([]string{""}, leadIDs...))
	c.args = append(c.args, address)
	return one[int](ctx, s.db, "counting announced leads", fmt.Sprintf(
		`SELECT count(*) FROM announced_leads%s OR address = $%d`, c.where(), len(c.args)), c.args...)
}

// notifyWithdrawn notifies the targets of a withdrawn consent. Consents of leads that
// retention deleted have the hash of the lead's id.
func notifyWithdrawn(ctx context.Context, tx Tx, leadIDs []string, address, purpose string) error {
	announced, err := all[string](ctx, tx, "finding announced leads",
		`SELECT lead_id FROM announced_leads WHERE address = $1`, address)
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for _, id := range announced {
		ids[digest(id)] = id
	}

	for _, id := range leadIDs {
		if known, ok := ids[id]; ok {
			id = known
		}
		if err := notify(ctx, tx, id, lead.ConsentWithdrawn, lead.EventDetail{Purpose: purpose}); err != nil {
			return err
		}
	}
	return nil
}

// outlivesLead is the SQL condition for [lead.Delivery.OutlivesLead].
func outlivesLead() string {
	events := make([]string, len(lead.Outliving()))
	for i, e := range lead.Outliving() {
		events[i] = "'" + string(e) + "'"
	}
	return "(target = '" + string(lead.Webhook) + "' AND event IN (" + strings.Join(events, ", ") + "))"
}

// PruneEvents removes the deliveries of events, of leads stored or not, that ended before a
// time and need no operator.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	return s.exec(ctx, "removing old events",
		`DELETE FROM deliveries WHERE event <> $2 AND progress = 0 AND finished_at < $1`,
		before, lead.Created)
}
