package pdfbench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Result is the median time of each way to draw the document.
type Result struct {
	Cold, Bare, FullFont time.Duration
	Bytes                int // size of the file the service sends
}

// VsFpdf is the goal figure pdf-cold-vs-fpdf: at most 1.10.
func (r Result) VsFpdf() float64 { return float64(r.Cold) / float64(r.Bare) }

// VsFullFont is the goal figure pdf-cold-vs-fullfont: at most 0.45.
func (r Result) VsFullFont() float64 { return float64(r.Cold) / float64(r.FullFont) }

// Measure draws the document in all three ways in turn, so that whatever else the
// machine does falls on all alike, and returns the medians.
func (b *Bench) Measure(ctx context.Context, rounds int) (Result, error) {
	var times [3][]time.Duration
	ways := [3]func() ([]byte, error){
		func() ([]byte, error) { return b.Cold(ctx) },
		b.Bare,
		b.FullFont,
	}
	var result Result
	for round := range rounds {
		for i := range ways {
			way := (i + round) % len(ways) // none always runs after the same other
			start := time.Now()
			file, err := ways[way]()
			if err != nil {
				return Result{}, fmt.Errorf("measuring: %w", err)
			}
			times[way] = append(times[way], time.Since(start))
			if way == 0 {
				result.Bytes = len(file)
			}
		}
	}
	medians := [3]*time.Duration{&result.Cold, &result.Bare, &result.FullFont}
	for way, list := range times {
		slices.Sort(list)
		*medians[way] = list[len(list)/2]
	}
	return result, nil
}
