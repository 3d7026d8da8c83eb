package pdf

import (
	"fmt"
	"testing"

	"siteapi/integrations/quote"
)

// heights tells pages apart by the heights of their blocks.
func heights(pages [][]block) [][]float64 {
	var out [][]float64
	for _, page := range pages {
		var list []float64
		for _, b := range page {
			list = append(list, b.height)
		}
		out = append(out, list)
	}
	return out
}

func TestPaginate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		blocks []block
		want   [][]float64
	}{
		"one page":               {[]block{{height: 40}, {height: 60}}, [][]float64{{40, 60}}},
		"the next begins a page": {[]block{{height: 40}, {height: 61}}, [][]float64{{40}, {61}}},
		"later pages are lower":  {[]block{{height: 100}, {height: 50}, {height: 41}}, [][]float64{{100}, {50}, {41}}},
		"a heading moves on":     {[]block{{height: 80}, {height: 10, keep: true}, {height: 30}}, [][]float64{{80}, {10, 30}}},
		"a chain moves on": {[]block{{height: 70}, {height: 10, keep: true}, {height: 10, keep: true}, {height: 20}, {height: 5}},
			[][]float64{{70}, {10, 10, 20, 5}}},
		"space goes at a page's top": {[]block{{height: 90}, {height: 7, space: true, keep: true}, {height: 30}}, [][]float64{{90}, {30}}},
		"too long a chain is torn": {[]block{{height: 50, keep: true}, {height: 60, keep: true}, {height: 70}},
			[][]float64{{50}, {60}, {70}}},
		"higher than a page": {[]block{{height: 10}, {height: 200}, {height: 10}}, [][]float64{{10}, {200}, {10}}},
		"keep at the end":    {[]block{{height: 10, keep: true}}, [][]float64{{10}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := heights(paginate(c.blocks, 100, 10))
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if len(got[i]) != len(c.want[i]) {
					t.Fatalf("got %v, want %v", got, c.want)
				}
				for j := range got[i] {
					if got[i][j] != c.want[i][j] {
						t.Fatalf("got %v, want %v", got, c.want)
					}
				}
			}
		})
	}
}

// TestNothingIsOrphaned adds features one by one, so that page breaks fall everywhere.
func TestNothingIsOrphaned(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := Document{Submission: quote.Submission{ID: "abc", Estimate: quote.Estimate{Min: 1, Max: 2, Currency: "EUR"}}}
	d.Submission.Contact.FirstName = "Ana"
	d.Submission.Selections.ProjectType = "app"
	torn := 0
	for n := range 120 {
		d.Submission.Selections.Features = append(d.Submission.Selections.Features, fmt.Sprintf("feature-%d", n))
		s, err := r.sheet(&d)
		if err != nil {
			t.Fatal(err)
		}
		parts := s.layout()
		for i, part := range parts {
			if last := part[len(part)-1]; last.keep || last.space {
				t.Errorf("%d features: page %d ends with a block that belongs to the next", n+1, i+1)
			}
			if i == 0 || part[0].section != s.words.features {
				continue
			}
			torn++
			before := parts[i-1]
			if len(before) > 1 && before[len(before)-2].section != s.words.features {
				t.Errorf("%d features: page %d ends with a single row under the heading", n+1, i)
			}
			if len(part) > 1 && part[1].section != s.words.features {
				t.Errorf("%d features: page %d begins with a single row", n+1, i+1)
			}
		}
	}
	if torn == 0 {
		t.Error("no list was torn: the test tests nothing")
	}
}
