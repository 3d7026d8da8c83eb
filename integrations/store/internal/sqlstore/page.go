package sqlstore

import (
	"strconv"
	"strings"
	"time"
)

// pageSize is how many rows a listing reads at once. Listings read page by page so
// that no transaction stays open while the caller thinks: an open one keeps SQLite
// from reusing its log and PostgreSQL from cleaning up.
const pageSize = "500"

// conditions collects the terms of a WHERE clause with their arguments.
type conditions struct {
	terms []string
	args  []any
}

// add appends a term whose marks ("?") stand for args in their order.
func (c *conditions) add(term string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		term = strings.Replace(term, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.terms = append(c.terms, term)
}

// since keeps rows whose column is at or after t, unless t is zero.
func (c *conditions) since(column string, t time.Time) {
	if !t.IsZero() {
		c.add(column+" >= ?", t.UnixMilli())
	}
}

// until keeps rows whose column is before t, unless t is zero.
func (c *conditions) until(column string, t time.Time) {
	if !t.IsZero() {
		c.add(column+" < ?", t.UnixMilli())
	}
}

// where returns the clause, empty where there are no terms.
func (c *conditions) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}
