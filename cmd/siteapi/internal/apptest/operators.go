package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"

	"siteapi/schema"
	"siteapi/schema/request"
)

// AuditEntries returns the entries of the audit log, the oldest first, and each also as
// "actor action lead".
func (b *Browser) AuditEntries() (entries []string, list []schema.AuditEntry) {
	b.T.Helper()
	data, _ := b.Asks(`{ audit(first: 500) { edges { node { at actor action lead detail hash } } } }`)
	for _, edge := range slices.Backward(data.Audit.Edges) {
		e := edge.Node
		entries = append(entries, fmt.Sprint(e.Actor, " ", e.Action, " ", schema.ValueOr(e.Lead, "-")))
		list = append(list, *e)
	}
	return entries, list
}

// AuditHead verifies the audit log, and returns the hash of its last entry.
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

// AuditEntries returns the entries of the audit log, the oldest first, each as
// "action lead detail".
func (s *Site) AuditEntries() (entries []string) {
	s.T.Helper()
	var list []schema.AuditEntry
	s.JSON(&list, "audit", "list", "--limit", "0")
	for _, e := range slices.Backward(list) {
		detail, _ := json.Marshal(e.Detail)
		entries = append(entries, fmt.Sprint(e.Action, " ", schema.ValueOr(e.Lead, ""), " ", string(detail)))
	}
	return entries
}

// OperatorData is the data of an operation with operators' fields.
type OperatorData struct {
	Leads         schema.LeadConnection
	Lead          *schema.Lead
	Deliveries    schema.DeliveryConnection
	Funnel        schema.Funnel
	LeadReport    schema.LeadReport
	ServiceHealth schema.ServiceHealth
	Audit         schema.AuditConnection

	Changed struct {
		Lead *schema.Lead
		schema.LeadsPayload
	}
	Erased *schema.ErasureReceipt
}

// graphQLResponse is a GraphQL response, or the problem of a path without a GraphQL
// endpoint.
type graphQLResponse[Data any] struct {
	Data   Data
	Errors []struct{ Extensions struct{ Code string } }
	Code   string
}

// code returns the code of the first error.
func (a graphQLResponse[Data]) code() string {
	if len(a.Errors) > 0 {
		return a.Errors[0].Extensions.Code
	}
	return a.Code
}

// Asks runs an operation on ADMIN_ADDR, and returns its data and the code of its error.
func (b *Browser) Asks(operation string) (OperatorData, string) {
	b.T.Helper()
	var response graphQLResponse[OperatorData]
	resp := b.query("/graphql", operation, &response, "Authorization: Bearer secret-of-operators")
	if resp.Header.Get("Cache-Control") != "no-store" {
		b.T.Errorf("%s may be cached: %q", operation, resp.Header.Get("Cache-Control"))
	}
	return response.Data, response.code()
}

// Runs runs a document, and returns the code of its error and the field with the alias
// "value" below the one with the alias "row".
func (b *Browser) Runs(path, document string, headers ...string) (code string, value any) {
	b.T.Helper()
	var response graphQLResponse[struct{ Row struct{ Value any } }]
	b.query(path, document, &response, headers...)

	value = response.Data.Row.Value
	below, _ := value.(object)
	if deep, ok := below["value"]; ok {
		value = deep
	}
	return response.code(), value
}

// OperateAs runs an operation as an operator of a role, and returns its data and the code
// of its error.
func (s *Service) OperateAs(role schema.Role, operation string) (OperatorData, string) {
	s.T.Helper()
	var response graphQLResponse[OperatorData]
	if err := json.Unmarshal(s.Response(role, operation), &response); err != nil {
		s.T.Fatalf("%s: %v", operation, err)
	}
	return response.Data, response.code()
}

// Response runs an operation as an operator of a role.
func (s *Service) Response(role schema.Role, operation string) []byte {
	body, _ := json.Marshal(object{"query": operation})
	r := httptest.NewRequestWithContext(s.T.Context(), "POST", "/admin/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r = r.WithContext(request.WithCaller(r.Context(), request.Caller{
		Header:    r.Header,
		Operators: true,
		Operator:  request.Operator{Actor: "someone@lumen.test", Role: role},
	}))

	w := httptest.NewRecorder()
	s.App.Server.InboxGraphQL.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// Owners returns the value of ADMIN_TOKENS with which leads can be assigned to addresses.
func Owners(addresses ...string) string {
	tokens := make([]string, len(addresses))
	for i, address := range addresses {
		tokens[i] = address + ":sales:token-of-" + address
	}
	return strings.Join(tokens, ",")
}
