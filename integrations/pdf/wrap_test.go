package pdf

import (
	"slices"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	latin, _ := families(t)
	face, size := latin.Regular, 10.0
	em := width("m", face, size)
	for name, c := range map[string]struct {
		text  string
		limit float64
		want  []string
	}{
		"nothing":           {"", 50, nil},
		"one line":          {"Web app", 50, []string{"Web app"}},
		"between words":     {"mmm mmm mmm", 7.5 * em, []string{"mmm mmm", "mmm"}},
		"a long word":       {"mmmmmmm", 3.2 * em, []string{"mmm", "mmm", "m"}},
		"goes on after it":  {"m mmmmm m", 3.5 * em, []string{"m", "mmm", "mm m"}},
		"behind a joint":    {"mm-mmmm", 5 * em, []string{"mm-", "mmmm"}},
		"narrower than one": {"mm", 0.5 * em, []string{"m", "m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wrap(c.text, face, size, c.limit); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWrapLosesNothing(t *testing.T) {
	t.Parallel()
	latin, _ := families(t)
	text := strings.Repeat("W", 100) + " și " + strings.Repeat("a-b_c.d@", 30) + " end"
	for limit := 5.0; limit < 180; limit += 7.3 {
		lines := wrap(text, latin.Bold, 11.5, limit)
		bare := strings.ReplaceAll(text, " ", "")
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != bare {
			t.Fatalf("at %.1f mm %q is left", limit, got)
		}
		for _, line := range lines {
			if w := width(line, latin.Bold, 11.5); w > limit {
				t.Errorf("at %.1f mm a line is %.2f mm wide: %q", limit, w, line)
			}
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	latin, _ := families(t)
	if got := fit("€1", latin.Bold, 25, 15, 100); got != 25 {
		t.Errorf("a short text shrank to %.1f points", got)
	}
	long := strings.Repeat("0", 30)
	got := fit(long, latin.Bold, 25, 15, 120)
	if got >= 25 || got < 15 || width(long, latin.Bold, got) > 120 {
		t.Errorf("%.1f points make it %.1f mm wide", got, width(long, latin.Bold, got))
	}
	if got := fit(strings.Repeat("0", 300), latin.Bold, 25, 15, 120); got != 15 {
		t.Errorf("an endless text shrank to %.1f points", got)
	}
}
