package leads

import (
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// The audit is filtered by action, operator, lead and time. An operator without an entry is
// an error that names those who have one.
func TestAuditFilters(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database)
		day := func(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC) }
		for i, e := range []store.AuditEntry{
			{Actor: "oidc:1", Name: "dana@lumen.test", Action: "RELEASED", Lead: "aaaaaaaa"},
			{Actor: "oidc:2", Name: "dana@lumen.test", Action: "ERASED", Lead: "bbbbbbbb"}, // a second account of hers
			{Actor: "token:bo", Name: "bo", Action: "ERASED", Lead: "aaaaaaaa"},
			{Actor: "command:root", Action: "ERASED"},
			{Actor: "token", Action: "LISTED"},
		} {
			e.At, e.Detail = day(i+1), "{}"
			must(t, s.App.Data.Store.Record(t.Context(), e))
		}

		for filter, want := range map[string]string{
			``:                               "5 4 3 2 1",
			`action: ERASED`:                 "4 3 2",
			`operator: "dana@lumen.test"`:    "2 1", // shown by one name
			`operator: "oidc:2"`:             "2",
			`operator: "bo"`:                 "3",
			`operator: "token:bo"`:           "3",
			`operator: "token"`:              "5",
			`operator: " command:root "`:     "4",
			`operator: ""`:                   "5 4 3 2 1",
			`lead: "aaaaaaaa"`:               "3 1",
			`since: "2026-11-02T12:00:00Z"`:  "5 4 3 2",
			`until: "2026-11-02T12:00:00Z"`:  "1", // exclusive
			`since: "2027-01-01T00:00:00Z"`:  "",
			`action: ERASED, operator: "bo"`: "3",
			`action: NOTE`:                   "",
			`operator: "eve"`:                "BAD_USER_INPUT",
			`since: "2026-11-03T00:00:00Z", until: "2026-11-02T00:00:00Z"`: "BAD_USER_INPUT",
			`operator: "dana"`: "BAD_USER_INPUT",
		} {
			data, code := s.OperateAs(schema.RoleAdmin, `{ audit(`+filter+`, first: 50) { edges { node { id } } } }`)
			var ids []string
			for _, edge := range data.Audit.Edges {
				ids = append(ids, edge.Node.ID)
			}
			if got := code + strings.Join(ids, " "); got != want {
				t.Errorf("%s: %q, want %q", filter, got, want)
			}
		}

		if out, err := s.Command("audit", "list", "--operator", "eve"); err == nil || !strings.Contains(err.Error(), "dana@lumen.test") {
			t.Errorf("an unknown operator: %v %s", err, out)
		}
	})
}
