package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Triggers of the tables keep the column progress of submissions, the Progress of a lead, up
// to date with each change of its rows here.
const (
	deliveryColumns = `submission_id, target, job, progress, created_at`

	// RecordDelivery stores a delivery. A second one to a target takes the place of the
	// first, which the queue has deleted.
	RecordDelivery = `INSERT INTO deliveries (` + deliveryColumns + `) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (submission_id, target)
DO UPDATE SET job = excluded.job, progress = excluded.progress, created_at = excluded.created_at`

	// changeDelivery stores a delivery unless its submission has been erased.
	changeDelivery = `INSERT INTO deliveries (` + deliveryColumns + `)
SELECT id, $2, $3, $4, $5 FROM submissions WHERE id = $1
ON CONFLICT (submission_id, target)
DO UPDATE SET job = excluded.job, progress = excluded.progress, created_at = excluded.created_at`

	saveDelivery = `UPDATE deliveries SET progress = $1 WHERE submission_id = $2 AND target = $3`

	// A job that an earlier release made may outlive its submission.
	importDelivery = `INSERT INTO deliveries (` + deliveryColumns + `)
SELECT id, $2, $3, $4, $5 FROM submissions WHERE id = $1
ON CONFLICT (submission_id, target) DO NOTHING`
)

// record stores what has become of deliveries.
func record(ctx context.Context, tx Tx, list []store.Delivery) error {
	for _, d := range list {
		if _, err := tx.Exec(ctx, RecordDelivery, deliveryValues(d)...); err != nil {
			return fmt.Errorf("recording a delivery: %w", err)
		}
	}
	return nil
}

func deliveryValues(d store.Delivery) []any {
	return []any{d.LeadID, d.Target, d.ID, int64(d.Progress), d.CreatedAt.UnixMilli()}
}

// enqueue creates and records the deliveries of leads.
func enqueue(ctx context.Context, tx Tx, leadIDs ...string) error {
	list, err := tx.Enqueue(ctx, leadIDs)
	if err != nil {
		return err
	}
	return record(ctx, tx, list)
}

// ChangeDelivery runs a change of the queue in a transaction, and records it. It returns
// store.ErrNotFound if the lead has been erased: the job of a delivery may outlive it.
func (s *Store) ChangeDelivery(
	ctx context.Context, change func(context.Context, store.Deliveries) (store.Delivery, error),
) error {
	return s.write(ctx, "changing a delivery", func(ctx context.Context, tx Tx) error {
		d, err := change(ctx, tx.Deliveries)
		if err != nil {
			return err
		}

		recorded, err := tx.Exec(ctx, changeDelivery, deliveryValues(d)...)
		switch {
		case err != nil:
			return fmt.Errorf("recording a delivery: %w", err)
		case recorded == 0:
			return fmt.Errorf("the lead of delivery %d: %w", d.ID, store.ErrNotFound)
		}
		return nil
	})
}

// SaveDelivery records the Progress of a delivery whose lead has not been erased.
func (s *Store) SaveDelivery(ctx context.Context, d store.Delivery) error {
	if _, err := s.db.Exec(ctx, saveDelivery, int64(d.Progress), d.LeadID, d.Target); err != nil {
		return fmt.Errorf("recording what became of a delivery: %w", err)
	}
	s.db.Changed()
	return nil
}

// RecordedDeliveries returns deliveries in the order of their ids.
func (s *Store) RecordedDeliveries(ctx context.Context, f store.DeliveryFilter) ([]store.Delivery, error) {
	return readDeliveries(ctx, s.db, f)
}

func readDeliveries(ctx context.Context, db DB, f store.DeliveryFilter) (list []store.Delivery, err error) {
	var c conditions
	if len(f.Leads) > 0 {
		c.in("submission_id", f.Leads)
	}
	if f.Unended {
		c.add("progress > 0")
	}
	if f.After != 0 {
		c.add("job > ?", f.After)
	}

	query := "SELECT " + deliveryColumns + " FROM deliveries" + c.where() + " ORDER BY job"
	if f.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	err = db.Query(ctx, query, c.args, func(scan Scan) error {
		var d store.Delivery
		var createdAt int64
		err := scan(&d.LeadID, &d.Target, &d.ID, &d.Progress, &createdAt)
		d.CreatedAt = time.UnixMilli(createdAt).UTC()
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing what became of deliveries: %w", err)
	}
	return list, nil
}

// CountDeliveries counts the deliveries whose Progress is not Ended.
func (s *Store) CountDeliveries(ctx context.Context) (counts []store.DeliveryCount, err error) {
	err = s.db.Query(ctx,
		`SELECT target, progress, count(*), min(created_at) FROM deliveries WHERE progress > 0
GROUP BY progress, target`, nil,
		func(scan Scan) error {
			var n store.DeliveryCount
			var oldest int64
			err := scan(&n.Target, &n.Progress, &n.Number, &oldest)
			n.Oldest = time.UnixMilli(oldest).UTC()
			counts = append(counts, n)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("counting deliveries: %w", err)
	}
	return counts, nil
}

// RemoveDeliveries removes the deliveries of leads, except for those that are running.
func (s *Store) RemoveDeliveries(
	ctx context.Context, leadIDs []string,
) (removed, running int, err error) {
	err = s.write(ctx, "removing deliveries", func(ctx context.Context, tx Tx) (err error) {
		removed, running, err = removeDeliveries(ctx, tx, leadIDs)
		return err
	})
	return removed, running, err
}

func removeDeliveries(ctx context.Context, tx Tx, leadIDs []string) (removed, running int, err error) {
	list, err := readDeliveries(ctx, tx, store.DeliveryFilter{Leads: leadIDs})
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}

	removed, running, err = tx.Remove(ctx, list)
	if err != nil || running > 0 {
		return removed, running, err // the rows are needed to look for what is running
	}

	var c conditions
	c.in("submission_id", leadIDs)
	_, err = tx.Exec(ctx, "DELETE FROM deliveries"+c.where(), c.args...)
	return removed, 0, err
}

// LastImported returns the id up to which ImportDeliveries has recorded deliveries.
func (s *Store) LastImported(ctx context.Context) (id int64, err error) {
	err = one(ctx, s.db, `SELECT job FROM deliveries_imported`, nil, &id)
	return id, err
}

// ImportDeliveries records those of the deliveries that are not recorded.
func (s *Store) ImportDeliveries(ctx context.Context, list []store.Delivery) error {
	return s.write(ctx, "recording earlier deliveries", func(ctx context.Context, tx Tx) error {
		for _, d := range list {
			if _, err := tx.Exec(ctx, importDelivery, deliveryValues(d)...); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE deliveries_imported SET job = $1 WHERE job < $1`, list[len(list)-1].ID)
		return err
	})
}

// in adds the condition that a column is one of some values.
func (c *conditions) in(column string, values []string) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")+")", args...)
}

// inProgress adds the condition that the Progress of a released lead is one of some values.
func (c *conditions) inProgress(of []lead.Progress) {
	var values []string
	for _, p := range of {
		values = append(values, strconv.Itoa(int(p)))
	}
	c.add("held = 0 AND progress IN (" + strings.Join(values, ", ") + ")")

	if !slices.Contains(of, lead.Ended) {
		c.add("progress > 0") // there are few, which an index of their own finds
	}
}
