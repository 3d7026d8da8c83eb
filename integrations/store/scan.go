package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/georgysavva/scany/v2/dbscan"
)

// Scan reads the current row into a struct by column names, or its only column into a
// value.
type Scan func(dest any) error

// EachRow calls row for each row of a result, and then closes the result.
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

// rows is a result whose values are converted from their stored form.
type rows struct{ dbscan.Rows }

// Scan copies the columns of the current row.
func (r rows) Scan(dest ...any) error {
	for i, d := range dest {
		kind := reflect.TypeOf(d).Elem().Kind()
		if _, optional := d.(**time.Time); optional ||
			kind == reflect.Bool || kind == reflect.Struct || kind == reflect.Slice || kind == reflect.Map {
			dest[i] = column{d}
		}
	}
	return r.Rows.Scan(dest...)
}

// column converts a stored value to its Go type. [Args] is the inverse.
type column struct{ value any }

// Scan implements [database/sql.Scanner].
func (c column) Scan(stored any) error {
	number, _ := stored.(int64)

	switch v := c.value.(type) {
	case *bool:
		*v = number == 1 || stored == true // PostgreSQL returns comparisons as booleans
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

// Args replaces the arguments of a statement with their stored form: times are
// milliseconds since 1970, or 0 for the zero time; booleans are 0 and 1; structs, slices
// and maps are JSON, or an empty string for zero values.
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
		case v.Kind() == reflect.Struct, v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
			args[i] = ""
			if !v.IsZero() {
				text, _ := json.Marshal(a) // encoding strings, numbers and times cannot fail
				args[i] = string(text)
			}
		}
	}
	return args
}

// all returns the rows of a result. Its error begins with the action that failed.
func all[T any](ctx context.Context, db DB, action, query string, args ...any) (list []T, err error) {
	err = db.Query(ctx, query, args, func(scan Scan) error {
		var row T
		err := scan(&row)
		list = append(list, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return list, nil
}

// one returns the single row of a result, or [ErrNotFound].
func one[T any](ctx context.Context, db DB, action, query string, args ...any) (row T, err error) {
	list, err := all[T](ctx, db, action, query, args...)
	if err != nil {
		return row, err
	}
	if len(list) == 0 {
		return row, fmt.Errorf("%s: %w", action, ErrNotFound)
	}
	return list[0], nil
}
