package main

import (
	"fmt"
	"slices"
)

// line is one figure of the report.
type line struct {
	name            string
	baseline, value float64
	unit            string
	goal            string // "≥ 0.90"; empty: none
	ratio           float64
}

// String formats the line.
func (l line) String() string {
	s := fmt.Sprintf("%s %.3f %.4g %.4g %s", l.name, l.ratio, l.baseline, l.value, l.unit)
	if l.goal != "" {
		s += " (goal " + l.goal + ")"
	}
	return s
}

// compare makes a line of measurements taken in turn. The ratio is the median of the
// ratios pair by pair, which holds while the machine's speed drifts.
func compare(name, unit, goal string, baseline, value []float64) line {
	ratios := make([]float64, len(value))
	for i := range value {
		ratios[i] = value[i] / baseline[i]
	}
	return line{name: name, unit: unit, goal: goal, baseline: median(baseline), value: median(value), ratio: median(ratios)}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
