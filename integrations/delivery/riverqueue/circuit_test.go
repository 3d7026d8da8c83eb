package riverqueue

import (
	"testing"
	"time"
)

// TestCircuit plays a story with a circuit: who may go through when, and how the
// verdicts change it.
func TestCircuit(t *testing.T) {
	t.Parallel()
	newCircuit := func() *circuit {
		return &circuit{failuresMax: 3, first: 5 * time.Second, max: 20 * time.Second, refused: time.Hour}
	}
	type step struct {
		at     time.Duration // since the beginning
		forced bool
		want   pass
		v      verdict
		asked  time.Duration
		shift  shift
	}
	const minute = time.Minute
	stories := map[string][]step{
		"successes between failures": {
			{0, false, passNormal, verdictFailed, 0, shiftNone},
			{0, false, passNormal, verdictFailed, 0, shiftNone},
			{0, false, passNormal, verdictReached, 0, shiftNone},
			{0, false, passNormal, verdictFailed, 0, shiftNone},
			{0, false, passNormal, verdictFailed, 0, shiftNone},
		},
		"down and up again": {
			{0, false, passNormal, verdictFailed, 0, shiftNone},
			{0, false, passNormal, verdictFailed, 0, shiftNone},
			{0, false, passNormal, verdictFailed, 0, shiftOpened},
			{4 * time.Second, false, passNone, 0, 0, 0},
			{5 * time.Second, false, passProbe, verdictFailed, 0, shiftNone}, // 10 s now
			{14 * time.Second, false, passNone, 0, 0, 0},
			{15 * time.Second, false, passProbe, verdictFailed, 0, shiftNone}, // 20 s
			{35 * time.Second, false, passProbe, verdictFailed, 0, shiftNone}, // no longer than that
			{54 * time.Second, false, passNone, 0, 0, 0},
			{55 * time.Second, false, passProbe, verdictReached, 0, shiftClosed},
			{55 * time.Second, false, passNormal, verdictReached, 0, shiftNone},
		},
		"refused": {
			{0, false, passNormal, verdictRefused, 0, shiftOpened},
			{59 * minute, false, passNone, 0, 0, 0},
			{59 * minute, true, passForced, verdictRefused, 0, shiftNone}, // and an hour again
			{61 * minute, false, passNone, 0, 0, 0},
			{119 * minute, false, passProbe, verdictReached, 0, shiftClosed},
		},
		"by hand": {
			{0, false, passNormal, verdictRefused, 0, shiftOpened},
			{1, true, passForced, verdictReached, 0, shiftClosed},
			{1, false, passNormal, verdictNone, 0, shiftNone},
		},
		"a failure by hand proves nothing new": {
			{0, false, passNormal, verdictAsked, minute, shiftOpened},
			{1, true, passForced, verdictFailed, 0, shiftNone},
			{minute, false, passProbe, verdictReached, 0, shiftClosed},
		},
		"a wish": {
			{0, false, passNormal, verdictAsked, minute, shiftOpened},
			{1, true, passForced, verdictAsked, time.Second, shiftNone}, // a shorter one doesn't shorten it
			{59 * time.Second, false, passNone, 0, 0, 0},
			{minute, false, passProbe, verdictFailed, 0, shiftNone}, // now it is down: 5 s
			{minute + 5*time.Second, false, passProbe, verdictReached, 0, shiftClosed},
		},
		"a probe that says nothing": {
			{0, false, passNormal, verdictAsked, minute, shiftOpened},
			{minute, false, passProbe, verdictNone, 0, shiftNone},
			{minute, false, passNone, 0, 0, 0},
			{minute + 5*time.Second, false, passProbe, verdictReached, 0, shiftClosed},
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, zero := newCircuit(), time.Now()
			for i, s := range story {
				now := zero.Add(s.at)
				_, _, waits := c.wait(now)
				p := c.enter(now, s.forced, minute)
				if p != s.want || !s.forced && waits != (p == passNone) {
					t.Fatalf("step %d: pass %v, wait %v; want %v", i, p, waits, s.want)
				}
				if p == passNone {
					continue
				}
				if got := c.leave(now, p, s.v, s.asked, "why"); got != s.shift {
					t.Fatalf("step %d: shift %v, want %v", i, got, s.shift)
				}
			}
		})
	}
}

// TestCircuitProbes: one probe at a time, and a lost one doesn't block the next.
func TestCircuitProbes(t *testing.T) {
	t.Parallel()
	c := &circuit{failuresMax: 1, first: time.Second, max: time.Second, refused: time.Hour}
	now := time.Now()
	c.leave(now, c.enter(now, false, time.Minute), verdictFailed, 0, "down")
	if d, why, wait := c.wait(now); !wait || d != time.Second || why != "down" {
		t.Errorf("wait %v, %v, %q", wait, d, why)
	}
	now = now.Add(time.Second)
	if need, _ := c.needs(now); need != needProbe {
		t.Errorf("it needs %v, want a probe", need)
	}
	if p := c.enter(now, false, time.Minute); p != passProbe {
		t.Fatalf("first: %v", p)
	}
	if p := c.enter(now, false, time.Minute); p != passNone {
		t.Errorf("second: %v", p)
	}
	if need, _ := c.needs(now); need != needPatience {
		t.Errorf("beside a probe under way it needs %v", need)
	}
	if p := c.enter(now.Add(time.Minute), false, time.Minute); p != passProbe {
		t.Errorf("after a lost one: %v", p)
	}
	if need, _ := (&circuit{}).needs(now); need != needNothing {
		t.Errorf("a closed circuit needs %v", need)
	}
}

// TestCircuitNews: while credentials are refused, news of others is asked for now and
// then, only of what came after the last refusal, and lets one try through.
func TestCircuitNews(t *testing.T) {
	t.Parallel()
	c := &circuit{failuresMax: 1, first: time.Second, max: time.Second, refused: time.Hour}
	now := time.Now()
	c.leave(now, c.enter(now, false, time.Minute), verdictRefused, 0, "token")
	if need, _ := c.needs(now.Add(5 * time.Second)); need != needPatience {
		t.Errorf("at once it needs %v", need)
	}
	for range 2 {
		refusedAt := now
		now = now.Add(6 * time.Second)
		if need, since := c.needs(now); need != needNews || !since.Equal(refusedAt) {
			t.Errorf("it needs %v since %v", need, since)
		}
		c.probeNow(now)
		p := c.enter(now, false, time.Minute)
		if p != passProbe {
			t.Fatalf("after news: %v", p)
		}
		c.leave(now, p, verdictRefused, 0, "token")
		if need, _ := c.needs(now); need != needPatience {
			t.Errorf("after another refusal it needs %v", need)
		}
	}
}
