package rest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Fault is one problem of an operation document.
type Fault struct {
	File         string
	Line, Column int    // from 1; 0: the whole file
	Text         string // what is wrong and what to do about it
}

// String returns file:line:column and the text.
func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Text)
}

// CompileError holds every problem of the operation documents, by file and place.
type CompileError struct {
	Faults []Fault
}

// Error lists the problems, one a line.
func (e *CompileError) Error() string {
	lines := make([]string, 0, len(e.Faults)+1)
	lines = append(lines, "compiling the REST operations:")
	for _, f := range e.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// faults collects problems.
type faults struct {
	list []Fault
}

// add notes a problem at a place in a document.
func (f *faults) add(pos *ast.Position, format string, args ...any) {
	fault := Fault{Text: fmt.Sprintf(format, args...)}
	if pos != nil {
		fault.Line, fault.Column = pos.Line, pos.Column
		if pos.Src != nil {
			fault.File = pos.Src.Name
		}
	}
	f.list = append(f.list, fault)
}

// addFile notes a problem of a whole file.
func (f *faults) addFile(file, format string, args ...any) {
	f.list = append(f.list, Fault{File: file, Text: fmt.Sprintf(format, args...)})
}

// addGraphQL takes over what gqlparser found in a file.
func (f *faults) addGraphQL(file string, err error) {
	var one *gqlerror.Error
	if !errors.As(err, &one) {
		f.addFile(file, "%s", err)
		return
	}
	fault := Fault{File: file, Text: one.Message}
	if len(one.Locations) > 0 {
		fault.Line, fault.Column = one.Locations[0].Line, one.Locations[0].Column
	}
	f.list = append(f.list, fault)
}

// err returns what was collected, sorted, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b Fault) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &CompileError{Faults: f.list}
}
