package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// outcome is what came of one scenario: a row of the table.
type outcome struct {
	Tried        string // what was done to the service
	Times        int    // how often
	Acknowledged int    // submissions that the service accepted
	Lost         int    // of those, or of their deliveries: gone, doubled or changed
	Notes        []string
	NotRun       string // why it could not be carried out here; empty: it was
}

// note adds a remark to the row.
func (o *outcome) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// result is a row with the name of its scenario, and what went wrong with it.
type result struct {
	name string
	outcome
	took time.Duration
	err  error
}

// printTable prints a row for each scenario, with its remarks below it.
func printTable(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SCENARIO\tTRIED\tTIMES\tACKNOWLEDGED\tLOST\tTOOK\tRESULT")
	for _, r := range results {
		verdict := "good"
		switch {
		case r.err != nil:
			verdict = "FAILED"
		case r.NotRun != "":
			verdict = "not run"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%v\t%s\n", r.name, r.Tried, r.Times, r.Acknowledged, r.Lost, r.took.Round(100*time.Millisecond), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		remarks := r.Notes
		if r.NotRun != "" {
			remarks = append(remarks, "not run: "+r.NotRun)
		}
		if r.err != nil {
			remarks = append(remarks, "FAILED: "+r.err.Error())
		}
		if len(remarks) > 0 {
			_, _ = fmt.Fprintf(out, "%s: %s\n", r.name, strings.Join(remarks, "; "))
		}
	}
	return nil
}

// judge turns rows into the result of the whole: an error if anything was lost, broken
// or, where it was required, not run.
func judge(results []result, required bool) error {
	var errs []error
	for _, r := range results {
		switch {
		case r.err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", r.name, r.err))
		case r.Lost > 0:
			errs = append(errs, fmt.Errorf("%s: %d of %d acknowledged submissions were lost, doubled or changed", r.name, r.Lost, r.Acknowledged))
		case r.NotRun != "" && required:
			errs = append(errs, fmt.Errorf("%s: not run: %s", r.name, r.NotRun))
		}
	}
	return errors.Join(errs...)
}
