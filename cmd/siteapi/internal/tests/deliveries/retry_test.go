package deliveries

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/store/sqlite"
	"siteapi/schema"
)

// Only deliveries are retried: no other job of the queue, and none whose lead has been erased
// meanwhile. Nothing else is in the audit.
func TestRetryOfNoDelivery(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		server, env := apptest.MailServer(t, smtptest.Options{})
		env["DATABASE_URL"] = database
		s := apptest.Start(t, env, apptest.Quick)
		stays, goes := s.Submits("stays"), s.Submits("goes")
		if _, code := s.Operates(schema.RoleSales, `mutation { assignLead(id: "`+stays+
			`", owner: "paul@lumen.test") { id } }`); code != "" {
			t.Fatal(code)
		}
		apptest.Eventually(t, "the owner's mail", func() bool { return len(apptest.MailsTo(server, "paul@lumen.test")) == 1 })

		var data apptest.OperatorData
		apptest.Eventually(t, "all deliveries have ended", func() bool {
			data, _ = s.Operates(schema.RoleSales, `{ deliveries { edges { node { id state lead { id } } } } }`)
			return len(data.Deliveries.Edges) > 0 &&
				!slices.ContainsFunc(data.Deliveries.Edges, func(e *schema.DeliveryEdge) bool {
					return e.Node.State != schema.DeliveryStateDelivered
				})
		})
		changeData(s, `DELETE FROM leads WHERE id = '`+goes+`'`)
		var exist, erased []string
		last := 0
		for _, e := range data.Deliveries.Edges {
			number, _ := strconv.Atoi(e.Node.ID)
			last = max(last, number)
			if e.Node.Lead.ID == stays {
				exist = append(exist, e.Node.ID)
			} else {
				erased = append(erased, e.Node.ID)
			}
		}

		mail := strconv.Itoa(last + 1) // the queue numbers all its jobs
		for number := 1; number <= last+2; number++ {
			id, want := strconv.Itoa(number), "NOT_FOUND"
			if slices.Contains(exist, id) {
				want = ""
			}
			if _, code := s.Operates(schema.RoleSales, `mutation { retryDelivery(id: "`+id+`") { id } }`); code != want {
				t.Errorf("retrying %s: %q, want %q", id, code, want)
			}
		}
		for _, id := range []string{mail, erased[0]} {
			out, err := s.Command("deliveries", "retry", id)
			if err == nil || !strings.Contains(err.Error(), "There is no delivery") {
				t.Errorf("the command retries %s: %v %s", id, err, out)
			}
		}

		var audit struct {
			Data struct{ Audit schema.AuditConnection }
		}
		entries := s.Answer(schema.RoleAdmin, `{ audit(first: 500) { edges { node { action lead } } } }`)
		if err := json.Unmarshal(entries, &audit); err != nil {
			t.Fatal(err)
		}
		retried := 0
		for _, e := range audit.Data.Audit.Edges {
			if e.Node.Action == schema.AuditActionRetried {
				if retried++; schema.ValueOr(e.Node.Lead, "") != stays {
					t.Errorf("a retry that was none: %+v", e.Node)
				}
			}
		}
		if retried != len(exist) {
			t.Errorf("%d retries in the audit, want %d", retried, len(exist))
		}
	})
}

// A cursor that no page has given is refused, whatever it holds.
func TestForgedCursors(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, map[string]string{"DATABASE_URL": database}, apptest.Quick)
		for field, texts := range map[string][]string{
			"leads":      {"nonsense", "1 a", "false-true 1 1 ", "false-true 1 1 \x00", "false-true 1 1 \xff", "false-true NaN 1 a", "\x00"},
			"deliveries": {"\x00", "\xff", "0", "-1", "99999999999999999999", "1 "},
			"audit":      {"\x00", "\xff", "0", "-1", "99999999999999999999", "1\x00"},
		} {
			for _, text := range texts {
				for _, cursor := range []string{base64.RawURLEncoding.EncodeToString([]byte(text)), text + "="} {
					quoted, _ := json.Marshal(cursor)
					operation := `{ ` + field + `(after: ` + string(quoted) + `) { pageInfo { hasNextPage } } }`
					if _, code := s.Operates(schema.RoleAdmin, operation); code != "BAD_USER_INPUT" && cursor != "" {
						t.Errorf("%s after %q: %q", field, text, code)
					}
				}
			}
		}
	})
}

// changeData runs a statement on the database behind the service's back.
func changeData(s *apptest.Service, query string) {
	s.T.Helper()
	if address := s.Env["DATABASE_URL"]; address != "" {
		conn, err := pgx.Connect(s.T.Context(), address)
		if err != nil {
			s.T.Fatal(err)
		}
		defer func() { _ = conn.Close(s.T.Context()) }()
		if _, err := conn.Exec(s.T.Context(), query); err != nil {
			s.T.Fatal(err)
		}
		return
	}

	db, err := sqlite.OpenDB(s.T.Context(), filepath.Join(s.DataDir, command.DatabaseFile))
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(s.T.Context(), query); err != nil {
		s.T.Fatal(err)
	}
}
