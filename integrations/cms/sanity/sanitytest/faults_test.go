package sanitytest_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
)

func TestFaultsComeInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, sanitytest.Options{})
	s.Fail(
		sanitytest.Fault{Mode: sanitytest.Answer, Status: 503, Times: 2},
		sanitytest.Fault{Mode: sanitytest.HTML, Status: 502, On: "mutate"},
		sanitytest.Fault{Mode: sanitytest.Reset},
	)
	var got []int
	for range 4 {
		status, _ := call(t, s, "GET", query(count, "$id", `"a"`), "", "")
		got = append(got, status)
	}
	if !slices.Equal(got, []int{503, 503, 0, 200}) {
		t.Errorf("%d", got)
	}
	if status, body := call(t, s, "POST", mutate, sanitytest.DefaultToken, "{}"); status != 502 || !strings.Contains(body, "<title>") {
		t.Errorf("%d %s", status, body)
	}
	var modes []sanitytest.Mode
	for _, r := range s.Requests() {
		modes = append(modes, r.Fault)
	}
	if !slices.Equal(modes, []sanitytest.Mode{"answer", "answer", "reset", "", "html"}) {
		t.Errorf("recorded %q", modes)
	}
}

func TestActedFaultsTakeEffect(t *testing.T) {
	t.Parallel()
	for _, acted := range []bool{false, true} {
		for _, mode := range []sanitytest.Mode{
			sanitytest.Answer, sanitytest.Reset, sanitytest.Truncated, sanitytest.BrokenJSON, sanitytest.HTML, sanitytest.Partial,
		} {
			s := open(t, sanitytest.Options{})
			s.Fail(sanitytest.Fault{Mode: mode, Status: 500, Acted: acted})
			call(t, s, "POST", mutate, sanitytest.DefaultToken, `{"mutations":[{"create":{"_id":"n","_type":"t"}}]}`)
			if stored := len(s.Documents()) == 1; stored != acted {
				t.Errorf("%s, acted %t: stored %t", mode, acted, stored)
			}
		}
	}
}

func TestRandomFaultsFollowTheSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		s := open(t, sanitytest.Options{})
		s.FailRandomly(0.5, seed, sanitytest.Fault{Mode: sanitytest.Answer, Status: 500}, sanitytest.Fault{Mode: sanitytest.Answer, Status: 503})
		var out strings.Builder
		for range 60 {
			status, _ := call(t, s, "GET", query(count, "$id", `"a"`), "", "")
			fmt.Fprintf(&out, "%d ", status)
		}
		s.Recover()
		if status, _ := call(t, s, "GET", query(count, "$id", `"a"`), "", ""); status != 200 {
			t.Errorf("%d after it has recovered", status)
		}
		return out.String()
	}
	first := run(1)
	if again := run(1); again != first {
		t.Errorf("the same seed gave\n%s and\n%s", first, again)
	}
	if run(2) == first {
		t.Error("another seed gave the same")
	}
	for _, status := range []string{"200", "500", "503"} {
		if n := strings.Count(first, status); n < 5 || n > 45 {
			t.Errorf("%s came %d times of 60", status, n)
		}
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	t.Parallel()
	for _, mode := range []sanitytest.Mode{sanitytest.Hang, sanitytest.Drip} {
		s := open(t, sanitytest.Options{})
		s.Fail(sanitytest.Fault{Mode: mode})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if resp, err := http.Get(s.URL() + query(count, "$id", `"a"`)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		for len(s.Requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		s.Close()
		s.Close()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Errorf("%s still hangs", mode)
		}
	}
}
