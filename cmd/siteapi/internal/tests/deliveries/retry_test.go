package deliveries

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/schema"
)

// Only the deliveries of existing leads can be retried, and no other jobs of the queue.
// Rejected retries are not in the audit.
func TestRetryDeliveriesOnly(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "ADMIN_TOKENS="+apptest.Owners("paul@lumen.test"))
	s := apptest.Start(t, env...)
	deliveredID, erasedID := s.Submit("delivered"), s.Submit("erased")
	if _, code := s.OperateAs(schema.RoleSales, `mutation { assignLeads(leads: ["`+deliveredID+
		`"], owner: "paul@lumen.test") { changed } }`); code != "" {
		t.Fatal(code)
	}
	apptest.Mailed(t, server, "paul@lumen.test", 1)
	s.Reaches(deliveredID, "cms", "delivered")
	delivered, erased := s.Deliveries(deliveredID)["cms"], s.Deliveries(erasedID)["cms"]
	if err := s.App.Data.Store.Erase(t.Context(), erasedID); err != nil {
		t.Fatal(err)
	}

	jobs := max(delivered.Job, erased.Job) + 10 // the queue numbers all its jobs
	for id, want := range map[int64]string{delivered.ID: "", erased.ID: "NOT_FOUND", jobs: "NOT_FOUND"} {
		number := strconv.FormatInt(id, 10)
		if _, code := s.OperateAs(schema.RoleSales, `mutation { retryDeliveries(ids: ["`+number+`"]) { deliveries { id } } }`); code != want {
			t.Errorf("retrying %s: %q, want %q", number, code, want)
		}
		if want == "" {
			continue
		}
		out, err := s.Command("deliveries", "retry", number)
		if err == nil || !strings.Contains(err.Error(), "There is no delivery") {
			t.Errorf("the command retried %s: %v %s", number, err, out)
		}
	}

	entries := string(s.Response(schema.RoleAdmin, `{ audit(first: 500) { edges { node { action lead } } } }`))
	if strings.Count(entries, `"RETRIED"`) != 1 {
		t.Errorf("the audit has %s", entries)
	}
}

// A start leaves the waits of deliveries as they were, also with another setting of their
// target: a target that asked for ten minutes is not called again.
func TestStartsLeaveRetryAfter(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(429)
	}))
	t.Cleanup(webhook.Close)
	s := apptest.Start(t, "LEAD_WEBHOOK_URL="+webhook.URL, "LEAD_WEBHOOK_SECRET="+apptest.LeadSecret)
	id := s.Submit("waits")
	apptest.Eventually(t, "the delivery waits", func() bool {
		return time.Until(s.Deliveries(id)[lead.Webhook].NextAt) > time.Minute
	})

	before := s.Deliveries(id)[lead.Webhook]
	for n := range 20 {
		s.Restart("LEAD_WEBHOOK_URL=" + webhook.URL + "/" + strconv.Itoa(n))
	}
	time.Sleep(1500 * time.Millisecond) // the queue looks for due jobs every second
	after := s.Deliveries(id)[lead.Webhook]
	if calls.Load() != 1 || !after.NextAt.Equal(before.NextAt) || after.Attempts != before.Attempts {
		t.Errorf("%d calls, then the delivery is %+v, before it was %+v", calls.Load(), after, before)
	}
}

// A forged cursor is rejected, whatever its content.
func TestForgedCursors(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.Start(t, "DATABASE_URL="+database, apptest.Quick)
		for field, texts := range map[string][]string{
			"leads":      {"nonsense", "false-true 1 1 ", "false-true 1 1 \x00", "false-true NaN 1 a"},
			"deliveries": {"\x00", "\xff", "-1", "99999999999999999999"},
			"audit":      {"0", "99999999999999999999", "1\x00"},
		} {
			for _, text := range texts {
				quoted, _ := json.Marshal(base64.RawURLEncoding.EncodeToString([]byte(text)))
				operation := `{ ` + field + `(after: ` + string(quoted) + `) { pageInfo { hasNextPage } } }`
				if _, code := s.OperateAs(schema.RoleAdmin, operation); code != "BAD_USER_INPUT" {
					t.Errorf("%s after %q: %q", field, text, code)
				}
			}
		}
	})
}
