package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DB runs single statements. Times are stored as milliseconds since 1970, or 0 for the
// zero time, and booleans as 0 and 1. Drivers convert them with [Args] and [EachRow].
type DB interface {
	// Exec runs a statement and returns the number of rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)

	// Query runs a statement and calls row for each row of its result. If row returns an
	// error, Query stops and returns it.
	Query(ctx context.Context, query string, args []any, row func(Scan) error) error
}

// Tx is a transaction together with the queue.
type Tx struct {
	DB
	Jobs

	// Submitted lists the leads whose deliveries [Tx.End] creates: new and released ones.
	Submitted *[]string
}

// End creates the deliveries of the leads submitted in a transaction; the caller then
// commits it. Requests may share the transaction: creating the deliveries of all its
// leads at once saves a third of the CPU time of storing a lead.
func (t Tx) End(ctx context.Context) error {
	return enqueue(ctx, t, *t.Submitted)
}

// Database is the connection that a driver provides. Its Exec makes the change durable.
type Database interface {
	DB

	// Write runs fn in a transaction and commits it, or changes nothing. It may call fn
	// again after a transient error. An fn that returns [ErrNotFound],
	// [ErrKeyReused] or [ErrUnderWay] must not have written anything.
	Write(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Store is everything that the service stores, over the database of a driver. Times that
// decide something between instances are the database's, since their clocks differ.
type Store struct{ db Database }

// New returns the store over a database.
func New(db Database) *Store { return &Store{db: db} }

// write runs fn in a transaction. Its error begins with the action that failed.
func (s *Store) write(ctx context.Context, action string, fn func(context.Context, Tx) error) error {
	if err := s.db.Write(ctx, fn); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

// exec runs a statement in its own transaction and returns the number of changed rows.
// Its error begins with the action that failed.
func (s *Store) exec(ctx context.Context, action, query string, args ...any) (int64, error) {
	n, err := s.db.Exec(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", action, err)
	}
	return n, nil
}

// Ping writes a timestamp, to prove that the database accepts writes. It returns when ctx
// ends, even if its write is still waiting.
func (s *Store) Ping(ctx context.Context) error {
	written := make(chan error, 1)
	go func() {
		_, err := s.db.Exec(ctx, `UPDATE pulse SET at = $1 WHERE id = 1`, time.Now().UnixMilli())
		written <- err
	}()

	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pageSize is the number of rows that a listing reads at once. No transaction stays open
// between pages, because an open one keeps SQLite from reusing its log and PostgreSQL
// from vacuuming.
const pageSize = 500

// chunk is the maximum number of rows written in one transaction, so that other writers
// do not wait long.
const chunk = 100

// conditions collects the terms of a WHERE clause with their arguments.
type conditions struct {
	terms []string
	args  []any
}

// add appends a term. Each "?" in it stands for one of args, in order.
func (c *conditions) add(term string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		term = strings.Replace(term, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.terms = append(c.terms, term)
}

// given adds a term with a value, unless the value is zero.
func (c *conditions) given(term string, value any) {
	if !reflect.ValueOf(value).IsZero() {
		c.add(term, value)
	}
}

// where returns the clause, or an empty string if there are no terms.
func (c *conditions) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// addIn adds the condition that a column has one of the values.
func addIn[T any](c *conditions, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")+")", args...)
}

// givenIn is addIn, unless there are no values.
func givenIn[T any](c *conditions, column string, values []T) {
	if len(values) > 0 {
		addIn(c, column, values)
	}
}

// insertRows inserts rows, given as one flat list of values. conflict is an ON CONFLICT
// clause or empty.
func insertRows(ctx context.Context, db DB, table, columns string, values []any, conflict string) error {
	const maxArgs = 200 // SQLite finds each argument by a linear search.
	width := strings.Count(columns, ",") + 1
	for part := range slices.Chunk(values, maxArgs/width*width) {
		var rows []string
		for n := 0; n < len(part); n += width {
			places := make([]string, width)
			for i := range places {
				places[i] = "$" + strconv.Itoa(n+i+1)
			}
			rows = append(rows, "("+strings.Join(places, ", ")+")")
		}

		insert := "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(rows, ", ") + conflict
		if _, err := db.Exec(ctx, insert, part...); err != nil {
			return err
		}
	}
	return nil
}
