package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/store"
)

// entry returns an audit entry of a lead.
func entry(n int, lead string) store.AuditEntry {
	return store.AuditEntry{
		At:     When().Add(time.Duration(n) * time.Hour),
		Actor:  "someone",
		Action: "OPENED",
		Lead:   lead,
		Detail: "{}",
	}
}

// wantEntries compares the number of audit entries.
func wantEntries(t *testing.T, db Store, want int) {
	t.Helper()
	if list, err := db.AuditEntries(t.Context(), store.AuditFilter{Limit: 100}); err != nil || len(list) != want {
		t.Errorf("the audit has %+v, %v, want %d entries", list, err, want)
	}
}

// audit records entries through two instances concurrently and checks that each kind of
// damage is detected.
func audit(t *testing.T, s Subject) {
	db, other := s.MustOpen(t, nil), s.MustOpen(t, nil)
	verify := func(head, problem string) store.AuditReport {
		t.Helper()
		r, err := db.VerifyAudit(t.Context(), head)
		if err != nil || (problem == "") != (r.Problem == "") || !strings.Contains(r.Problem, problem) {
			t.Errorf("verifying returned %+v, %v, want the problem %q", r, err, problem)
		}
		return r
	}
	verify("", "")

	concurrently(20, func(i int) {
		ok(t, []Store{db, other}[i%2].Record(t.Context(), entry(1, fmt.Sprint("lead-", i%3))))
	})
	if r := verify("", ""); r.Entries != 20 || r.Seq != 20 {
		t.Errorf("%+v, want 20 entries", r)
	}

	// A change and its entry are atomic.
	submit(t, db, Lead(1))
	if err := db.Erase(t.Context(), "nosuch", entry(2, "nosuch")); err == nil {
		t.Error("an unknown lead was erased")
	}
	ok(t, db.Erase(t.Context(), Lead(1).Lead.ID, entry(2, Lead(1).Lead.ID)))
	list, err := db.AuditEntries(t.Context(), store.AuditFilter{Limit: 1})
	if err != nil || list[0].Seq != 21 || !list[0].At.Equal(When().Add(2*time.Hour)) {
		t.Fatalf("the entry of the erasure: %+v, %v", list, err)
	}
	head := list[0].Hash
	verify(head, "")
	verify("0000", "no entry matches the given head hash")

	auditDamage(t, s, verify)

	// Pruning records the removal of expired entries; any other missing entry is damage.
	prune := func(now time.Duration, last int64) {
		t.Helper()
		anchor, err := db.PruneAudit(t.Context(), time.Hour, When().Add(now))
		if err != nil || anchor.Seq != last {
			t.Errorf("pruning: %+v, %v", anchor, err)
		}
	}
	prune(150*time.Minute, 20)
	if r := verify(head, ""); r.Entries != 2 {
		t.Errorf("%+v", r)
	}
	s.Exec(t, `DELETE FROM audit WHERE seq = 21`)
	verify("", "entry 21 is missing")
	prune(24*time.Hour, 22)
	prune(24*time.Hour, 0)
	ok(t, db.Record(t.Context(), entry(30, "")))
	if r := verify("", ""); r.Seq != 24 || r.Entries != 2 {
		t.Errorf("after pruning: %+v", r)
	}
}

// auditDamage changes the tables directly and restores them.
func auditDamage(t *testing.T, s Subject, verify func(head, problem string) store.AuditReport) {
	t.Helper()
	s.Exec(t, `CREATE TABLE saved AS SELECT * FROM audit; CREATE TABLE saved_head AS SELECT * FROM audit_head`)
	head := verify("", "").Head
	for damage, problem := range map[string]string{
		`UPDATE audit SET actor = 'nobody' WHERE seq = 7`:             "entry 7 or an earlier one was changed",
		`DELETE FROM audit WHERE seq = 1`:                             "entry 1 is missing",
		`DELETE FROM audit WHERE seq = 12`:                            "entry 12 is missing",
		`DELETE FROM audit WHERE seq > 18`:                            "the entries after 18 are missing",
		`UPDATE audit_head SET hash = 'x'`:                            "differs from the recorded head",
		`UPDATE audit SET actor = 'nobody' WHERE seq = 1`:             "entry 1 or an earlier one was changed",
		`DELETE FROM audit; UPDATE audit_head SET seq = 0, hash = ''`: "no entry matches the given head hash",
		`DELETE FROM audit WHERE seq > 18; UPDATE audit_head SET seq = 18, ` +
			`hash = (SELECT hash FROM audit WHERE seq = 18)`: "no entry matches the given head hash",
	} {
		s.Exec(t, damage)
		verify(head, problem)
		s.Exec(t, `DELETE FROM audit; DELETE FROM audit_head; INSERT INTO audit SELECT * FROM saved; `+
			`INSERT INTO audit_head SELECT * FROM saved_head`)
	}
}
