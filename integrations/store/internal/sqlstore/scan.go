package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/georgysavva/scany/v2/dbscan"

	"siteapi/integrations/store"
)

// Scan reads the current row into a struct, by the names of the columns, or the only column
// of it into a value.
type Scan func(dest any) error

// EachRow calls row for each row of a result, and closes it.
func EachRow(result dbscan.Rows, row func(Scan) error) (err error) {
	defer func() { err = errors.Join(err, result.Close()) }()

	scanner := dbscan.NewRowScanner(rows{result})
	for result.Next() {
		if err := row(scanner.Scan); err != nil {
			return err
		}
	}
	return result.Err()
}

// rows is a result whose values are read as they are stored.
type rows struct{ dbscan.Rows }

// Scan copies the columns of the current row.
func (r rows) Scan(dest ...any) error {
	for i, d := range dest {
		switch v := d.(type) {
		case *time.Time:
			dest[i] = (*timestamp)(v)
		case *bool:
			dest[i] = (*flag)(v)
		}
	}
	return r.Rows.Scan(dest...)
}

// timestamp reads a time.
type timestamp time.Time

// Scan implements [database/sql.Scanner].
func (t *timestamp) Scan(column any) error {
	ms, ok := column.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", column)
	}

	*t = timestamp{}
	if ms != 0 {
		*t = timestamp(time.UnixMilli(ms).UTC())
	}
	return nil
}

// flag reads a truth.
type flag bool

// Scan implements [database/sql.Scanner].
func (f *flag) Scan(column any) error {
	*f = column == int64(1)
	return nil
}

// Args replaces arguments of a statement by what is stored.
func Args(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			args[i] = milliseconds(v)
		case bool:
			args[i] = 0
			if v {
				args[i] = 1
			}
		}
	}
	return args
}

// milliseconds returns a time as it is stored.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// document is a column with a value as JSON, which is empty for the zero value.
type document[T any] struct{ value T }

// Scan implements [database/sql.Scanner].
func (d *document[T]) Scan(column any) error {
	text, ok := column.(string)
	if !ok {
		return fmt.Errorf("a document is a %T", column)
	}
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), &d.value)
}

// optionalJSON encodes a value, or returns an empty text for a zero one.
func optionalJSON[T comparable](value T) (string, error) {
	var zero T
	if value == zero {
		return "", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// all returns the rows of a result. Its error begins with the action that failed.
func all[T any](ctx context.Context, db DB, doing, query string, args ...any) (list []T, err error) {
	err = db.Query(ctx, query, args, func(scan Scan) error {
		var row T
		err := scan(&row)
		list = append(list, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// one returns the single row of a result, or [store.ErrNotFound].
func one[T any](ctx context.Context, db DB, doing, query string, args ...any) (row T, err error) {
	list, err := all[T](ctx, db, doing, query, args...)
	if err != nil {
		return row, err
	}
	if len(list) == 0 {
		return row, fmt.Errorf("%s: %w", doing, store.ErrNotFound)
	}
	return list[0], nil
}
