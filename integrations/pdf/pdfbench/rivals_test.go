package pdfbench_test

import (
	"testing"

	"siteapi/integrations/pdf/boxes"
	"siteapi/integrations/pdf/pdfbench"
)

// TestBareDrawsTheSamePage makes sure that the benchmark compares like with like.
func TestBareDrawsTheSamePage(t *testing.T) {
	t.Parallel()
	bench, err := pdfbench.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cold, err := bench.Cold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := boxes.Read(cold)
	if err != nil {
		t.Fatal(err)
	}
	for name, way := range map[string]func() ([]byte, error){"bare": bench.Bare, "full fonts": bench.FullFont} {
		file, err := way()
		if err != nil {
			t.Fatal(err)
		}
		if name == "full fonts" { // its pages are not compressed: only the weight is compared
			if len(file) < len(cold) {
				t.Errorf("with full fonts the file has %d bytes, cut %d", len(file), len(cold))
			}
			continue
		}
		got, err := boxes.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || len(got[0]) != len(want[0]) {
			t.Fatalf("%s: %d pages of %d marks, want %d of %d", name, len(got), len(got[0]), len(want), len(want[0]))
		}
		for i, m := range got[0] {
			w := want[0][i]
			if near(m.X, w.X) && near(m.Y, w.Y) && near(m.W, w.W) && near(m.H, w.H) {
				m.X, m.Y, m.W, m.H = w.X, w.Y, w.W, w.H
			}
			if m != w {
				t.Errorf("%s: mark %d is %+v, want %+v", name, i, m, w)
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 0.02 && b-a < 0.02 }

func TestMeasure(t *testing.T) {
	t.Parallel()
	bench, err := pdfbench.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := bench.Measure(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if result.Cold <= 0 || result.Bare <= 0 || result.FullFont <= 0 || result.Bytes == 0 {
		t.Errorf("the result is %+v", result)
	}
	// No goal is held here: a test runs beside others. Only what can't be by chance.
	if result.VsFullFont() > 1 {
		t.Errorf("cut fonts take %.2f of the time of full ones", result.VsFullFont())
	}
}
