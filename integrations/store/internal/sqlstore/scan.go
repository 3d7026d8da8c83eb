package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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
		kind := reflect.TypeOf(d).Elem().Kind()
		if _, optional := d.(**time.Time); optional ||
			kind == reflect.Bool || kind == reflect.Struct || kind == reflect.Slice {
			dest[i] = column{d}
		}
	}
	return r.Rows.Scan(dest...)
}

// column points to a value that is not stored as it is. [Args] is its counterpart.
type column struct{ value any }

// Scan implements [database/sql.Scanner].
func (c column) Scan(stored any) error {
	number, _ := stored.(int64)

	switch v := c.value.(type) {
	case *bool:
		*v = number == 1 || stored == true // the type of a comparison in PostgreSQL
	case *time.Time:
		if *v = (time.Time{}); number != 0 {
			*v = time.UnixMilli(number).UTC()
		}
	case **time.Time:
		if *v = nil; number != 0 {
			at := time.UnixMilli(number).UTC()
			*v = &at
		}
	default:
		if text, _ := stored.(string); text != "" {
			return json.Unmarshal([]byte(text), v)
		}
	}
	return nil
}

// Args replaces arguments of a statement by what is stored: times as milliseconds since 1970,
// and 0 for none; false and true as 0 and 1; structs and lists as JSON, and zero ones as an
// empty text.
func Args(args []any) []any {
	for i, a := range args {
		v := reflect.ValueOf(a)
		at, isTime := a.(time.Time)

		switch {
		case isTime && at.IsZero():
			args[i] = int64(0)
		case isTime:
			args[i] = at.UnixMilli()
		case v.Kind() == reflect.Bool && v.Bool():
			args[i] = 1
		case v.Kind() == reflect.Bool:
			args[i] = 0
		case v.Kind() == reflect.String:
			args[i] = v.String()
		case v.Kind() == reflect.Struct, v.Kind() == reflect.Slice:
			args[i] = ""
			if !v.IsZero() {
				text, _ := json.Marshal(a) // encoding texts, numbers and times does not fail
				args[i] = string(text)
			}
		}
	}
	return args
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
