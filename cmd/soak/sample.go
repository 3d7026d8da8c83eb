package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// measure is one thing that a process holds on to.
type measure int

// What is watched.
const (
	resident    measure = iota // memory that the system gave it, in megabytes
	liveHeap                   // memory in use after a collection, in megabytes
	goroutines                 // number
	descriptors                // number of open files and sockets
	measures
)

func (m measure) String() string {
	return [...]string{"resident memory, MB", "live heap, MB", "goroutines", "file descriptors"}[m]
}

// allowed is how much a measure may be above where it began: a part of that, for what
// differs from moment to moment, and something for what comes and goes with requests.
func (m measure) allowed(first float64) float64 {
	more := [...]struct{ part, fixed float64 }{{0.15, 16}, {0.10, 4}, {0.10, 40}, {0.10, 16}}[m]
	return first*(1+more.part) + more.fixed
}

// sample is one look at a process.
type sample [measures]float64

// report compares the last third of the samples with the first, prints a row for each
// measure and fails if one grew.
func report(out io.Writer, series []sample) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nHELD\tFIRST THIRD\tLAST THIRD\tALLOWED\tRESULT")
	var errs []error
	third := max(len(series)/3, 1)
	for m := range measures {
		first, last := middle(series[:third], m), middle(series[len(series)-third:], m)
		verdict := "flat"
		if last > m.allowed(first) {
			verdict = "GREW"
			errs = append(errs, fmt.Errorf("%v grew from %.1f to %.1f", m, first, last))
		}
		_, _ = fmt.Fprintf(w, "%v\t%.1f\t%.1f\t%.1f\t%s\n", m, first, last, m.allowed(first), verdict)
	}
	return errors.Join(append(errs, w.Flush())...)
}

// middle returns the median of a measure.
func middle(series []sample, m measure) float64 {
	var values []float64
	for _, s := range series {
		values = append(values, s[m])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
