// Package export writes all pages of an operation with @command(file) as a file: CSV for
// programs, or a workbook for people. Both have the columns of the command.
package export

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/operations"
)

// Export exports the entries of an operation, whose root field is a connection.
type Export struct {
	Operation *operations.Operation
	Run       func(ctx context.Context, variables map[string]any) (json.RawMessage, *schema.Error)
	Zone      *time.Location // zone of the times in the file
}

// Table is a file that is being written.
type Table interface {
	Write(entry any) error
	Close() error
}

// page is a page of entries, or the error of the last one. The entries are decoded while the
// next page is fetched.
type page struct {
	Edges    jsontext.Value `json:"edges"`
	PageInfo struct {
		HasNextPage bool   `json:"hasNextPage"`
		EndCursor   string `json:"endCursor"`
	} `json:"pageInfo"`
	err error
}

// Write writes all pages. open is called after the first page was fetched, so nothing is
// written if the operation is refused. The error is a [schema.Error] if a page was refused.
func (e Export) Write(ctx context.Context, arguments map[string]any, open func() (Table, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan page)
	var fetching sync.WaitGroup
	defer fetching.Wait()
	defer cancel()
	fetching.Go(func() {
		defer close(pages)
		e.fetch(ctx, arguments, pages)
	})

	var to Table
	for p := range pages {
		if p.err == nil && to == nil {
			to, p.err = open()
		}
		var edges []struct {
			Node any `json:"node"`
		}
		if p.err == nil {
			p.err = jsonv2.Unmarshal(p.Edges, &edges)
		}
		if p.err != nil {
			return p.err
		}

		for _, edge := range edges {
			if err := to.Write(edge.Node); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil { // the last page may be missing
		return err
	}
	return to.Close()
}

// fetch sends all pages, each while the one before is written.
func (e Export) fetch(ctx context.Context, arguments map[string]any, pages chan<- page) {
	for {
		value, problem := e.Run(ctx, e.Operation.Bind(arguments))
		var p page
		if problem != nil {
			p.err = problem
		} else {
			p.err = jsonv2.Unmarshal(value, &p)
		}

		select {
		case pages <- p:
		case <-ctx.Done():
			return
		}
		if !p.PageInfo.HasNextPage {
			return
		}
		arguments["after"] = p.PageInfo.EndCursor
	}
}

// column is a column of an export.
type column struct {
	path  string
	field *ast.Field
}

// columns returns the columns of the command.
func (e Export) columns() []column {
	list := make([]column, len(e.Operation.Command.Columns))
	for i, path := range e.Operation.Command.Columns {
		list[i] = column{path, schema.FieldAt(e.Operation.Root.SelectionSet, "edges.node."+path)}
	}
	return list
}

// time returns the value of a field in the zone of the file, and whether it is a time.
func (e Export) time(field *ast.Field, text string) (at time.Time, isTime bool) {
	if field.Definition.Type.NamedType != "DateTime" {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, text)
	return at.In(e.Zone), err == nil
}
