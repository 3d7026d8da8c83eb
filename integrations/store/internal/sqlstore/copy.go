package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"siteapi/integrations/lead"
)

// notCopied are tables whose rows belong to the processes that run on a database.
var notCopied = []string{ //nolint:gochecknoglobals // a constant
	"edge_changes", "edge_receivers", "leases", "lead_changes", "pulse", "store_migrations",
}

// Copied is the number of rows of a table that were copied.
type Copied struct {
	Table string
	Rows  int64
}

// ErrNotEmpty means that a database has leads, sessions or an audit already.
var ErrNotEmpty = errors.New("it is not empty")

// CopyTo copies all tables of a SQLite database that nobody writes to into an empty database,
// and counts their rows. A delivery that has not ended gets a job there. After an error the
// other database has to be made anew.
func (s *Store) CopyTo(ctx context.Context, to *Store) (copied []Copied, err error) {
	for _, table := range []string{"leads", "sessions", "audit"} {
		n, err := to.count(ctx, table)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return nil, fmt.Errorf("%w: there are %d rows in %s", ErrNotEmpty, n, table)
		}
	}

	tables, err := all[string](ctx, s.db, "listing the tables", `SELECT name FROM sqlite_master WHERE type = 'table'
AND name NOT LIKE 'river%' AND name NOT LIKE 'sqlite%' ORDER BY name <> 'leads', name`)
	if err != nil {
		return nil, err
	}

	for _, table := range tables {
		if slices.Contains(notCopied, table) {
			continue
		}
		if err := s.copyTable(ctx, to, table); err != nil {
			return copied, fmt.Errorf("copying %s: %w", table, err)
		}

		read, err := s.count(ctx, table)
		if err != nil {
			return copied, err
		}
		written, err := to.count(ctx, table)
		if err != nil {
			return copied, err
		}
		if read != written {
			return copied, fmt.Errorf("%s has %d rows, but %d were copied", table, read, written)
		}
		copied = append(copied, Copied{table, written})
	}
	return copied, nil
}

// copyTable copies the rows of a table, which take the place of those that an empty database
// has. Numbers that databases give to rows are given anew.
func (s *Store) copyTable(ctx context.Context, to *Store, table string) error {
	columns, err := all[string](ctx, s.db, "listing its columns", `SELECT name FROM pragma_table_info('`+table+`')
WHERE NOT (name = 'id' AND type = 'INTEGER' AND '`+table+`' IN ('deliveries', 'lead_notes')) ORDER BY cid`)
	if err != nil {
		return err
	}
	if _, err := to.db.Exec(ctx, "DELETE FROM "+table); err != nil {
		return err
	}

	var rows []map[string]any
	flush := func() error {
		some := rows
		rows = nil
		return to.addRows(ctx, table, columns, some)
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
		return err
	}
	return flush()
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
	row["started_at"] = int64(0)
	if progress, _ := row["progress"].(int64); progress < progressRetrying {
		return nil
	}

	id, _ := row["lead_id"].(string)
	target, _ := row["target"].(string)
	list, err := tx.Enqueue(ctx, []string{id}, lead.Target(target))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no target %q", target)
	}
	row["job"] = list[0].Job
	return nil
}

// count returns the number of rows of a table.
func (s *Store) count(ctx context.Context, table string) (int64, error) {
	return one[int64](ctx, s.db, "counting rows of "+table, "SELECT count(*) FROM "+table)
}
