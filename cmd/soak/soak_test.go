package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestShortSoak soaks the real service for seconds.
func TestShortSoak(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "siteapi")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "siteapi/cmd/siteapi").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-binary", binary, "-time", "8s"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"AFTER", "goroutines", "file descriptors", "flat", "webhooks", "broken connections"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, out.String())
		}
	}
}

// TestGrowthIsFound: whatever grows is named, whatever only trembles is not.
func TestGrowthIsFound(t *testing.T) {
	t.Parallel()
	steady := sample{60, 8, 80, 35}
	for name, tt := range map[string]struct {
		grow sample // with each of 30 samples
		want []string
	}{
		"steady":      {sample{}, nil},
		"trembling":   {sample{0.1, 0.05, 0.1, 0.1}, nil},
		"memory":      {sample{resident: 3}, []string{"resident memory"}},
		"heap":        {sample{liveHeap: 0.5}, []string{"live heap"}},
		"goroutines":  {sample{goroutines: 4}, []string{"goroutines grew from 104.0 to 184.0"}},
		"descriptors": {sample{descriptors: 2}, []string{"file descriptors"}},
		"all":         {sample{3, 0.5, 4, 2}, []string{"resident memory", "live heap", "goroutines", "file descriptors"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var series []sample
			for n := range 30 {
				s := steady
				for m := range measures {
					s[m] += tt.grow[m]*float64(n) + float64(n%2)*tt.grow[m]
				}
				series = append(series, s)
			}
			var out bytes.Buffer
			err := report(&out, series)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("%v, want %v\n%s", err, tt.want, out.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// TestWrongAnswersAreFound: a load that is answered wrongly is no success.
func TestWrongAnswersAreFound(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/quote/track") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprint(w, `{"data":{"a":[{"id":"heroSection-en"}]},"submissionId":"x"}`)
	}))
	defer s.Close()
	l := newLoad(s.URL)
	l.begin(t.Context())
	time.Sleep(2 * time.Second)
	l.end()
	var out bytes.Buffer
	err := l.report(&out)
	if err == nil {
		t.Fatalf("no error:\n%s", out.String())
	}
	for _, want := range []string{"tracked states: ", "500 Internal Server Error", "PDFs: ", "not a PDF", "invalid requests: ", "an answer without the content"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "webhooks") {
		t.Errorf("webhooks were answered well: %v", err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-time 1s": "at least 8s", "more": "nothing after the flags", "-binary /nowhere/x": "make build", "-what": "not defined",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
