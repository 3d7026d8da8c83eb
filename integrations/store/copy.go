package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/lead"
)

// Copied is the number of rows of a table that were copied.
type Copied struct {
	Table string
	Rows  int64
}

// copyNote is the name of the note of a copy in its target: the time at which it was complete,
// or copyUnderWay.
const (
	copyNote     = "copy"
	copyUnderWay = "under way"
)

// ErrIncomplete means that a copy into the database was interrupted.
var ErrIncomplete = errors.New("a copy into it was interrupted, so leads and deliveries are missing: " +
	"create it anew, and repeat `siteapi store copy`")

// CopiedAt returns the time of the copy into this database, or an empty text if there was none.
// It returns [ErrIncomplete] after an interrupted copy.
func (s *Store) CopiedAt(ctx context.Context) (string, error) {
	at, err := s.Note(ctx, copyNote)
	if at == copyUnderWay {
		err = ErrIncomplete
	}
	return at, err
}

// ErrNotEmpty means that a database already has data.
var ErrNotEmpty = errors.New("it is not empty")

// CopyTo copies all tables of a SQLite database into an empty database and counts their
// rows. Nothing may write to the source meanwhile. Each delivery that has not ended gets
// a job in the target. After an error the target must be created anew: it can't be opened.
func (s *Store) CopyTo(ctx context.Context, to *Store) (copied []Copied, err error) {
	// The other tables belong to the processes that use a database and are not copied.
	tables, err := all[string](ctx, s.db, "listing the tables", `SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'river%' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'edge%'
AND name NOT IN ('lead_changes', 'pulse', 'store_migrations') ORDER BY name <> 'leads', name`)
	if err != nil {
		return nil, err
	}

	for _, table := range tables {
		rows, err := one[int64](ctx, to.db, "checking whether it is empty", "SELECT count(*) FROM "+table)
		if err != nil {
			return nil, err
		}
		if rows > 0 && !filled(table) {
			return nil, fmt.Errorf("%w: its table %s has %d rows", ErrNotEmpty, table, rows)
		}
	}
	if err := to.SetNote(ctx, copyNote, copyUnderWay); err != nil {
		return nil, err
	}
	for _, table := range tables {
		n, err := s.copyTable(ctx, to, table)
		if err != nil {
			return copied, fmt.Errorf("copying %s: %w", table, err)
		}
		copied = append(copied, Copied{table, n})
	}
	return copied, to.SetNote(ctx, copyNote, time.Now().UTC().Format(time.RFC3339))
}

// filled reports whether a table has rows even in a database without data.
func filled(table string) bool {
	return slices.Contains([]string{"audit_head", "hash_key", "service_notes", "visitor_mails_turn"}, table)
}

// copyTable copies the rows of a table, replacing those that an empty database has, and
// returns their number. The target assigns its own row numbers.
func (s *Store) copyTable(ctx context.Context, to *Store, table string) (copied int64, err error) {
	columns, err := all[string](ctx, s.db, "listing its columns", `SELECT name FROM pragma_table_info($1)
WHERE NOT (name = 'id' AND type = 'INTEGER' AND $1 IN ('deliveries', 'lead_notes')) ORDER BY cid`, table)
	if err != nil {
		return 0, err
	}
	if filled(table) {
		own := ""
		if table == "service_notes" {
			own = " WHERE name <> '" + copyNote + "'"
		}
		if _, err := to.db.Exec(ctx, "DELETE FROM "+table+own); err != nil {
			return 0, err
		}
	}

	var rows []map[string]any
	flush := func() error {
		copied += int64(len(rows))
		batch := rows
		rows = nil
		return to.addRows(ctx, table, columns, batch)
	}
	err = s.db.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table, nil, func(scan Scan) error {
		var row map[string]any
		if err := scan(&row); err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == chunk {
			return flush()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = flush()
	return copied, err
}

// addRows stores rows of another database in one transaction.
func (s *Store) addRows(ctx context.Context, table string, columns []string, rows []map[string]any) error {
	if len(rows) == 0 {
		return nil
	}

	return s.write(ctx, "storing rows", func(ctx context.Context, tx Tx) error {
		var values []any
		for _, row := range rows {
			if table == "deliveries" {
				if err := insertJob(ctx, tx, row); err != nil {
					return err
				}
			}

			for _, column := range columns {
				values = append(values, row[column])
			}
		}
		return insertRows(ctx, tx, table, strings.Join(columns, ", "), values, "")
	})
}

// insertJob inserts a job for a delivery, unless it has ended.
func insertJob(ctx context.Context, tx Tx, row map[string]any) error {
	row["running_until"] = int64(0)
	if lead.DeliveryState(fmt.Sprint(row["state"])).Ended() {
		return nil
	}

	list, err := tx.Enqueue(ctx, []string{fmt.Sprint(row["lead_id"])}, lead.Target(fmt.Sprint(row["target"])))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no target %q", row["target"])
	}
	row["job"] = list[0].Job
	return nil
}
