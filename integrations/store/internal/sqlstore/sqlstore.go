// Package sqlstore is the store in SQL that all drivers share: statements, rules and
// migrations. A driver provides a [Database], which runs statements and transactions and
// returns [store.ErrUnavailable] for transient failures.
//
// Statements use $1, $2, … for arguments, which SQLite and PostgreSQL both take.
package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/store"
)

// DB runs single statements. Times are stored as milliseconds since 1970, and 0 for none;
// false and true as 0 and 1. Drivers convert them with [Args] and [EachRow].
type DB interface {
	// Exec runs a statement and returns the number of rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)

	// Query runs a statement and calls row once for each row of its result. If row
	// returns an error, Query ends and returns that error.
	Query(ctx context.Context, query string, args []any, row func(Scan) error) error
}

// Tx is a transaction, with the queue in it.
type Tx struct {
	DB
	store.Jobs

	// Submitted are the leads whose deliveries [Tx.End] creates: new ones, and released ones.
	Submitted *[]string
}

// End creates the deliveries of the leads that were submitted in a transaction, which several
// requests may share, and ends it but for the commit: creating those of all leads at once
// takes a third of the processor time off a new lead.
func (t Tx) End(ctx context.Context) error {
	return enqueue(ctx, t, *t.Submitted)
}

// Database is the connection that a driver provides. Its Exec makes a statement durable.
type Database interface {
	DB

	// Write runs fn in a transaction and commits it, or leaves nothing behind. It may
	// call fn again after a transient error. An fn that returns [store.ErrNotFound],
	// [store.ErrKeyReused] or [store.ErrUnderWay] must not have written anything.
	Write(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Store implements the interfaces of package store over a database.
type Store struct{ db Database }

// New returns the store over a database whose tables are up to date.
func New(db Database) *Store { return &Store{db} }

// write runs fn in a transaction. Its error begins with the action that failed.
func (s *Store) write(ctx context.Context, doing string, fn func(context.Context, Tx) error) error {
	if err := s.db.Write(ctx, fn); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// exec runs a statement in a transaction of its own, and returns the number of rows it
// changed. Its error begins with the action that failed.
func (s *Store) exec(ctx context.Context, doing, query string, args ...any) (int64, error) {
	n, err := s.db.Exec(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	return n, nil
}

// Ping writes a time stamp, to prove that the database takes writes. It returns when ctx
// ends, even while its write is waiting.
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

// pageSize is how many rows a listing reads at once. No transaction stays open while the
// caller works, because an open one keeps SQLite from reusing its log and PostgreSQL from
// cleaning up.
const pageSize = 500

// chunk is the most rows written in one transaction, so that other writers get their
// turn.
const chunk = 100

// conditions collects the terms of a WHERE clause with their arguments.
type conditions struct {
	terms []string
	args  []any
}

// add appends a term. Each "?" in it stands for one of args, in their order.
func (c *conditions) add(term string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		term = strings.Replace(term, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.terms = append(c.terms, term)
}

// where returns the clause, or nothing if there are no terms.
func (c *conditions) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// The function in adds the condition that a column is one of some values.
func in[T any](c *conditions, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")+")", args...)
}

// insertRows inserts rows, whose values follow each other.
func insertRows(ctx context.Context, db DB, table, columns string, values []any, conflict string) error {
	const most = 200 // SQLite looks each argument up among all of its statement.
	width := strings.Count(columns, ",") + 1
	for part := range slices.Chunk(values, most/width*width) {
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
