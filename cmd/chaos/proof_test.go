package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/delivery"
)

// TestMain lets this binary play the roles that the program starts itself in.
func TestMain(m *testing.M) {
	for _, role := range []func(context.Context) error{underClock, inside} {
		if err := role(context.Background()); !errors.Is(err, errOutside) {
			exit(err)
		}
	}
	os.Exit(m.Run())
}

// TestProofs carries short runs out. Overload, flapping and the clock are left to `make chaos`:
// they would disturb whatever is tested beside them.
func TestProofs(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for name, times := range map[string]string{"kills": "3", "disk-full": "1", "read-only": "2"} {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			if err := run(t.Context(), []string{name, "-binary", binary, "-short", "-kills", "3", "-seed", "7"}, &out, &notes); err != nil {
				t.Fatalf("%v\n%s%s", err, notes.String(), out.String())
			}
			row := regexp.MustCompile(`(?m)^` + name + ` .+  (\d+) +(\d+) +(\d+) +\S+ +(.+)$`).FindStringSubmatch(out.String())
			switch {
			case row == nil:
				t.Fatalf("no row:\n%s", out.String())
			case row[4] == "not run" && os.Getenv("SITEAPI_TEST_SERVICES") != "required":
				t.Skip(out.String())
			case row[1] != times || len(row[2]) < 2 || row[3] != "0" || row[4] != "good":
				t.Errorf("want %s times, at least ten acknowledged, none lost:\n%s", times, out.String())
			}
		})
	}
}

// TestAudit makes sure that a service which forgets or doubles is found out.
func TestAudit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		id, pdf int // what the service answers to resubmissions and for PDFs
		lost    int
	}{
		"all there":        {0, http.StatusOK, 0},
		"another id":       {1, http.StatusOK, 3},
		"no such document": {0, http.StatusNotFound, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(tt.pdf)
					return
				}
				_, _ = fmt.Fprintf(w, `{"success":true,"submissionId":"id-%d"}`, tt.id)
			}))
			defer s.Close()
			var leads []*lead
			for n := range 3 {
				l, err := newLead(n)
				if err != nil {
					t.Fatal(err)
				}
				l.id = "id-0"
				leads = append(leads, l)
			}
			lost, why, err := audit(t.Context(), newVisitors(s.URL), leads)
			if err != nil || lost != tt.lost || (why == "") != (tt.lost == 0) {
				t.Errorf("%d lost (%s), %v, want %d", lost, why, err, tt.lost)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	l := ledger{
		"good": {delivery.CMS: 1, delivery.CRM: 1}, "half": {delivery.CMS: 1}, "twice": {delivery.CMS: 1, delivery.CRM: 2},
	}
	if n := l.missing([]*lead{{id: "good"}, {id: "half"}, {id: "twice"}, {id: "gone"}}); n != 3 {
		t.Errorf("%d are missing, want 3", n)
	}
	if n := l.doubled(); n != 1 {
		t.Errorf("%d are doubled, want 1", n)
	}
}

// TestCrowdTellsRefusalFromDoubt: only what was answered with 503 and nothing else is
// known not to be stored.
func TestCrowdTellsRefusalFromDoubt(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][3]int{200: {1, 0, 0}, 503: {0, 1, 0}, 502: {0, 0, 1}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, `{"submissionId":"a"}`)
		}))
		c := newCrowd(s.URL, false)
		l, err := newLead(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.bring(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if got := [3]int{len(c.acked), len(c.refused), len(c.open)}; got != want {
			t.Errorf("%d: acknowledged, refused, open are %v, want %v", status, got, want)
		}
		s.Close()
	}
	if n := unless(map[int]int{200: 5, 503: 2, 0: 1}, 200, 503); n != 1 {
		t.Errorf("%d answers are wrong, want 1", n)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r        result
		required bool
		want     string // part of the error; empty: none
		row      string
	}{
		"good":                  {result{name: "kills", outcome: outcome{Times: 9, Acknowledged: 5}}, true, "", "good"},
		"lost":                  {result{name: "kills", outcome: outcome{Acknowledged: 5, Lost: 1}}, false, "1 of 5", "kills"},
		"broken":                {result{name: "kills", err: errors.New("burst")}, false, "burst", "FAILED"},
		"not run":               {result{name: "kills", outcome: outcome{NotRun: "no mounts"}}, false, "", "not run: no mounts"},
		"not run, but required": {result{name: "kills", outcome: outcome{NotRun: "no mounts"}}, true, "no mounts", "not run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := judge([]result{tt.r}, tt.required)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			var out bytes.Buffer
			if err := printTable(&out, []result{tt.r}); err != nil || !strings.Contains(out.String(), tt.row) {
				t.Errorf("%v, the table lacks %q:\n%s", err, tt.row, out.String())
			}
		})
	}
}

// TestStorm counts what an overloaded service answers.
func TestStorm(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-turn:
			time.Sleep(10 * time.Millisecond)
			turn <- struct{}{}
			_, _ = fmt.Fprint(w, `{"submissionId":"a"}`)
		default:
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	storm := newStorm(s.URL)
	g := storm.blow(t.Context(), 10, 200, time.Second, storm.submission)
	if g.answers[200] == 0 || g.answers[503] == 0 || unless(g.answers, 200, 503) != 0 || g.sent < 100 || g.sent > 230 {
		t.Errorf("%d sent, answers %v", g.sent, g.answers)
	}
	if len(storm.ids) != g.answers[200] || len(g.times[true]) != g.answers[200] || len(g.times[false]) != g.answers[503] {
		t.Errorf("%d ids, %d and %d times for %v", len(storm.ids), len(g.times[true]), len(g.times[false]), g.answers)
	}
	if p := part([]time.Duration{3, 1, 2}, 50); p != 0 { // rounded to what can be told apart
		t.Errorf("the middle is %v", p)
	}
}

func TestFuzzOutput(t *testing.T) {
	t.Parallel()
	var f fuzzTarget
	f.read([]byte("fuzz: elapsed: 0s, gathering baseline coverage: 13/13 completed, now fuzzing with 2 workers\n" +
		"fuzz: elapsed: 3s, execs: 17551 (5850/sec), new interesting: 59 (total: 72)\n" +
		"fuzz: elapsed: 8s, execs: 74710 (11720/sec), new interesting: 103 (total: 116)\nPASS\n"))
	if f.known != 13 || f.execs != 74710 || f.found != 103 || f.err != nil {
		t.Errorf("read %+v", f)
	}
	var idle fuzzTarget
	if idle.read([]byte("PASS\n")); idle.err == nil {
		t.Error("a target that executed nothing is taken for clean")
	}
	targets, err := findTargets("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, target := range targets {
		found[target.name] = true
	}
	for _, want := range []string{"FuzzBinding", "FuzzDecode", "FuzzNotice", "FuzzSignature", "FuzzPattern", "FuzzRequest"} {
		if !found[want] {
			t.Errorf("%s is not among %v", want, found)
		}
	}
}
