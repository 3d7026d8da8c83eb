package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/integrations/store/sqlite"
	"siteapi/schema"
)

// Audited returns the entries of the audit, the oldest first, each as "actor action lead".
func (b *Browser) Audited() (entries []string, list []schema.AuditEntry) {
	b.T.Helper()
	_, answer := b.Send("POST", "/graphql",
		`{"query":"{ audit(first: 500) { edges { node { at actor action lead detail hash } } } }"}`,
		"Authorization: Bearer secret-of-operators")

	var data struct {
		Data struct{ Audit schema.AuditConnection }
	}
	raw, _ := json.Marshal(answer)
	if err := json.Unmarshal(raw, &data); err != nil {
		b.T.Fatal(err)
	}
	for _, e := range data.Data.Audit.Edges {
		entries = append(entries, fmt.Sprint(e.Node.Actor, " ", e.Node.Action, " ", schema.ValueOr(e.Node.Lead, "-")))
		list = append(list, *e.Node)
	}
	slices.Reverse(entries)
	slices.Reverse(list)
	return entries, list
}

// AuditHead verifies the audit, and returns the hash of its last entry.
func (s *Site) AuditHead() string {
	s.T.Helper()
	out, code := s.Run("audit", "verify")
	_, head, found := strings.Cut(out, "head ")
	head, _, _ = strings.Cut(strings.TrimSpace(head), "\n")
	if code != 0 || !found {
		s.T.Fatalf("%d %s", code, out)
	}
	return head
}

// HasAudit checks that the audit is whole, and still has the entry with a hash.
func (s *Site) HasAudit(head string) {
	s.T.Helper()
	if out, code := s.Run("audit", "verify", "--head", head); code != 0 {
		s.T.Errorf("%d %s", code, out)
	}
}

// Recorded returns the entries of the audit in SQLite, each as "action lead detail".
func (s *Site) Recorded() (entries []string) {
	s.T.Helper()
	db, err := sqlite.OpenDB(s.T.Context(), filepath.Join(s.Dir, command.DatabaseFile))
	if err != nil {
		s.T.Fatal(err)
	}
	defer db.Close()

	rows, err := db.QueryContext(s.T.Context(), `SELECT action, lead, detail FROM audit ORDER BY seq`)
	if err != nil {
		s.T.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var action, lead, detail string
		if err := rows.Scan(&action, &lead, &detail); err != nil {
			s.T.Fatal(err)
		}
		entries = append(entries, action+" "+lead+" "+detail)
	}
	return entries
}

// OperatorData is the data of the operator fields that an operation asks for.
type OperatorData struct {
	Leads         schema.LeadConnection
	Lead          *schema.Lead
	Deliveries    schema.DeliveryConnection
	Funnel        schema.Funnel
	ServiceHealth schema.ServiceHealth

	Changed *schema.Lead
	Retried *schema.Delivery
	Erased  *schema.ErasureReceipt
}

// Asks runs an operation on ADMIN_ADDR and returns its data, or the code of its error.
func (b *Browser) Asks(operation string) (data OperatorData, code string) {
	b.T.Helper()
	body, _ := json.Marshal(object{"query": operation})
	resp, answer := b.Send("POST", "/graphql", string(body), "Authorization: Bearer secret-of-operators")
	if resp.Header.Get("Cache-Control") != "no-store" {
		b.T.Errorf("%s is kept: %q", operation, resp.Header.Get("Cache-Control"))
	}

	raw, _ := json.Marshal(answer)
	return decodeOperatorData(b.T, raw)
}

// decodeOperatorData returns the data of an answer, and the code of its first error.
func decodeOperatorData(t *testing.T, answer []byte) (data OperatorData, code string) {
	t.Helper()
	var result struct {
		Data   OperatorData
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}

	if len(result.Errors) > 0 {
		code = result.Errors[0].Extensions.Code
	}
	return result.Data, code
}

// Runs runs a document, and returns the code of its error and the field of its aliases.
func (b *Browser) Runs(path, document string, headers ...string) (code string, value any) {
	b.T.Helper()
	body, _ := json.Marshal(object{"query": document})
	_, answer := b.Send("POST", path, string(body), headers...)
	if code, ok := answer["code"].(string); ok {
		return code, nil
	}

	var result struct {
		Data   struct{ Row struct{ Value any } }
		Errors []struct{ Extensions struct{ Code string } }
	}
	raw, _ := json.Marshal(answer)
	if err := json.Unmarshal(raw, &result); err != nil {
		b.T.Errorf("%s: %v: %s", document, err, raw)
	}
	if len(result.Errors) > 0 {
		return result.Errors[0].Extensions.Code, nil
	}
	value = result.Data.Row.Value
	if below, nested := value.(map[string]any); nested && len(below) == 1 {
		if deep, ok := below["value"]; ok {
			value = deep
		}
	}
	return "", value
}

// Operates runs an operation as an operator of a role, and returns its data and the code of
// its error.
func (s *Service) Operates(role schema.Role, operation string) (data OperatorData, code string) {
	s.T.Helper()
	return decodeOperatorData(s.T, s.Answer(role, operation))
}

// Answer runs an operation as an operator of a role.
func (s *Service) Answer(role schema.Role, operation string) []byte {
	body, _ := json.Marshal(object{"query": operation})
	r := httptest.NewRequestWithContext(s.T.Context(), "POST", "/admin/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r = r.WithContext(schema.WithCaller(r.Context(), schema.Caller{
		Header:    r.Header,
		Operators: true,
		Operator:  schema.Operator{Actor: "someone@lumen.test", Role: role},
	}))

	w := httptest.NewRecorder()
	s.App.Server.InboxGraphQL.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// Submits submits a lead of a session and returns its id.
func (s *Service) Submits(session string) string {
	s.T.Helper()
	o := s.Through("REST", "submitQuote", object{"input": NewLead(session)})
	id, _ := o.Data["submissionId"].(string)
	if id == "" {
		s.T.Fatal(o)
	}
	return id
}
