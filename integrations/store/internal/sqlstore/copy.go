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
func (s *Store) CopyTo(ctx context.Context, to *Store) (all []Copied, err error) {
	for _, table := range []string{"leads", "sessions", "audit"} {
		n, err := to.count(ctx, table)
		if err == nil && n > 0 {
			err = fmt.Errorf("%w: there are %d rows in %s", ErrNotEmpty, n, table)
		}
		if err != nil {
			return nil, err
		}
	}

	tables, err := s.strings(ctx, `SELECT name FROM sqlite_master WHERE type = 'table'
AND name NOT LIKE 'river%' AND name NOT LIKE 'sqlite%' ORDER BY name <> 'leads', name`)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}

	for _, table := range tables {
		if slices.Contains(notCopied, table) {
			continue
		}
		if err := s.copyTable(ctx, to, table); err != nil {
			return all, fmt.Errorf("copying %s: %w", table, err)
		}

		read, err := s.count(ctx, table)
		if err != nil {
			return all, err
		}
		written, err := to.count(ctx, table)
		if err == nil && read != written {
			err = fmt.Errorf("%s has %d rows, but %d were copied", table, read, written)
		}
		if err != nil {
			return all, err
		}
		all = append(all, Copied{table, written})
	}
	return all, nil
}

// copyTable copies the rows of a table, which take the place of those that an empty database
// has. Numbers that databases give to rows are given anew.
func (s *Store) copyTable(ctx context.Context, to *Store, table string) error {
	columns, err := s.strings(ctx, `SELECT name FROM pragma_table_info('`+table+`')
WHERE NOT (name = 'id' AND type = 'INTEGER' AND '`+table+`' IN ('deliveries', 'lead_notes')) ORDER BY cid`)
	if err != nil {
		return err
	}
	if _, err := to.db.Exec(ctx, "DELETE FROM "+table); err != nil {
		return err
	}

	var rows [][]any
	flush := func() error {
		some := rows
		rows = nil
		return to.insertRows(ctx, table, columns, some)
	}
	err = s.db.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table, nil, func(scan Scan) error {
		row := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := scan(dest...); err != nil {
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

// insertRows stores rows of another database in one transaction.
func (s *Store) insertRows(ctx context.Context, table string, columns []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	return s.write(ctx, "storing rows", func(ctx context.Context, tx Tx) error {
		if table == "deliveries" {
			if err := insertJobs(ctx, tx, columns, rows); err != nil {
				return err
			}
		}

		var places []string
		var args []any
		for _, row := range rows {
			numbers := make([]string, len(row))
			for i, value := range row {
				args = append(args, value)
				numbers[i] = fmt.Sprintf("$%d", len(args))
			}
			places = append(places, "("+strings.Join(numbers, ", ")+")")
		}
		_, err := tx.Exec(ctx, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES "+
			strings.Join(places, ", "), args...)
		return err
	})
}

// insertJobs inserts a job for each delivery that has not ended.
func insertJobs(ctx context.Context, tx Tx, columns []string, rows [][]any) error {
	of := func(row []any, name string) *any { return &row[slices.Index(columns, name)] }
	for _, row := range rows {
		*of(row, "started_at") = int64(0)
		progress, _ := (*of(row, "progress")).(int64)
		if progress < progressRetrying {
			continue
		}

		id, _ := (*of(row, "lead_id")).(string)
		target, _ := (*of(row, "target")).(string)
		made, err := tx.Enqueue(ctx, []string{id}, lead.Target(target))
		if err != nil {
			return err
		}
		if len(made) == 0 {
			return fmt.Errorf("there is no target %q", target)
		}
		*of(row, "job") = made[0].Job
	}
	return nil
}

// count returns the number of rows of a table.
func (s *Store) count(ctx context.Context, table string) (n int64, err error) {
	err = one(ctx, s.db, "SELECT count(*) FROM "+table, nil, &n)
	return n, err
}

// strings returns a column of text.
func (s *Store) strings(ctx context.Context, query string) (list []string, err error) {
	err = s.db.Query(ctx, query, nil, func(scan Scan) error {
		var text string
		err := scan(&text)
		list = append(list, text)
		return err
	})
	return list, err
}
