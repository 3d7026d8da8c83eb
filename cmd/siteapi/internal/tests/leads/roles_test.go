package leads

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// operatorRoles is the least role for each field of operators, and for each field of a lead.
var operatorRoles = map[string]schema.Role{
	"Query.leads":              schema.RoleViewer,
	"Query.lead":               schema.RoleViewer,
	"Query.funnel":             schema.RoleViewer,
	"Query.deliveries":         schema.RoleSales,
	"Query.serviceHealth":      schema.RoleAdmin,
	"Query.contentHealth":      schema.RoleViewer,
	"Query.audit":              schema.RoleAdmin,
	"Query.verifyAudit":        schema.RoleAdmin,
	"Query.logins":             schema.RoleAdmin,
	"Query.person":             schema.RoleSales,
	"Query.operatorNames":      schema.RoleViewer,
	"Mutation.retryDelivery":   schema.RoleSales,
	"Mutation.resendLead":      schema.RoleSales,
	"Mutation.releaseLead":     schema.RoleSales,
	"Mutation.rejectLead":      schema.RoleSales,
	"Mutation.withdrawConsent": schema.RoleSales,
	"Mutation.setLeadOutcome":  schema.RoleSales,
	"Mutation.eraseLeads":      schema.RoleAdmin,
	"Mutation.assignLead":      schema.RoleSales,
	"Mutation.setLeadStatus":   schema.RoleSales,
	"Mutation.addLeadNote":     schema.RoleSales,
	"Mutation.releaseLeads":    schema.RoleSales,
	"Mutation.rejectLeads":     schema.RoleSales,
	"Mutation.retryLeads":      schema.RoleSales,
	"Mutation.assignLeads":     schema.RoleSales,
	"Mutation.setLeadStatuses": schema.RoleSales,

	"Mutation.endLogin":         schema.RoleAdmin,
	"Mutation.endLogins":        schema.RoleAdmin,
	"Mutation.retryDeliveries":  schema.RoleAdmin,
	"Mutation.verifyDeliveries": schema.RoleAdmin,

	"Subscription.leadEvents": schema.RoleViewer,

	"LeadChange.id":         schema.RoleSales,
	"LeadConnection.csv":    schema.RoleSales,
	"Lead.id":               schema.RoleSales,
	"Lead.sessionId":        schema.RoleSales,
	"Lead.contact":          schema.RoleSales,
	"Lead.pdfUrl":           schema.RoleSales,
	"Lead.deliveries":       schema.RoleSales,
	"Lead.noMailReason":     schema.RoleSales,
	"Lead.consents":         schema.RoleSales,
	"Lead.message":          schema.RoleSales,
	"Lead.attribution":      schema.RoleSales,
	"Lead.firstAttribution": schema.RoleSales,
	"Lead.audit":            schema.RoleSales,
	"LeadOutcome.by":        schema.RoleSales,
	"Lead.notes":            schema.RoleSales,
	"Lead.sameAddress":      schema.RoleSales,
}

// viewerFields are the fields that a viewer sees of each type.
var viewerFields = map[string]string{
	"LeadConnection": "edges pageInfo counts",
	"LeadEdge":       "cursor node",
	"PageInfo":       "hasNextPage endCursor",
	"LeadEvent":      "position restarted changes",
	"LeadChange":     "reference kind",
	"Lead": "reference state submittedAt locale selections estimate priceStatus sentEstimate " +
		"signals outcome owner status",
	"LeadOutcome":     "value amount currency at source",
	"LeadSelections":  "projectType features complexity timeline",
	"LeadEstimate":    "min max currency toBeAgreed",
	"LeadCounts":      "total states statuses",
	"LeadStateCount":  "state count",
	"LeadStatusCount": "status count",
	"Funnel":          "steps weeks choices sources submissions untracked inReview",
	"FunnelStep":      "name count conversion",
	"FunnelWeek":      "week start locale steps",
	"FunnelChoice":    "field value count submitted",
	"FunnelSource":    "source campaign sessions estimates submissions sums won",
	"FunnelSum":       "currency amount",

	"ContentHealth":     "locale fetchedAt documents types",
	"ContentTypeHealth": "type documents updatedAt",
}

// covers reports whether a role may do what needs at least another one. It has a list of its
// own, so that a mistake in the order of the service fails the tests.
func covers(role, least schema.Role) bool {
	order := []schema.Role{schema.RoleViewer, schema.RoleSales, schema.RoleAdmin}
	return slices.Index(order, role) >= slices.Index(order, least)
}

// Each field of operators has a role, in the schema and in the tables here. A viewer sees no
// field that is missing there.
func TestEveryOperatorFieldNamesItsRole(t *testing.T) {
	t.Parallel()
	types := exec.AST().Types
	seen := map[string]bool{}

	var check func(name string)
	check = func(name string) {
		if types[name].Kind != ast.Object || seen[name] {
			return
		}
		seen[name] = true

		for _, field := range types[name].Fields {
			path := name + "." + field.Name
			auth := field.Directives.ForName("auth")
			switch {
			case field.Directives.ForName("personal") != nil:
				if want := operatorRoles[path]; want != schema.RoleSales {
					t.Errorf("%s is @personal, operatorRoles says %q", path, want)
				}
			case auth == nil && name != "Query" && name != "Mutation" && name != "Subscription":
				if !slices.Contains(strings.Fields(viewerFields[name]), field.Name) {
					t.Errorf("%s is open to viewers: name its role in the schema, or add it to viewerFields", path)
				}
				check(field.Type.Name())
			case auth == nil || auth.Arguments.ForName("token").Value.Raw != "ADMIN":
			case auth.Arguments.ForName("role") == nil:
				t.Errorf("%s: @auth names no role", path)
			default:
				role := schema.Role(auth.Arguments.ForName("role").Value.Raw)
				if want := operatorRoles[path]; role != want {
					t.Errorf("%s: @auth names the role %s, operatorRoles %q", path, role, want)
				}
				if role == schema.RoleViewer {
					check(field.Type.Name())
				}
			}
		}
	}
	check("Query")
	check("Mutation")
	check("Subscription")
}

// operatorDocuments asks for each root field of operators, by its name. They change nothing.
func operatorDocuments(reference string) map[string]string {
	return map[string]string{
		"Query.leads":              `{ leads { edges { node { state } } } }`,
		"Query.lead":               `{ lead(id: "` + reference + `") { state } }`,
		"Query.funnel":             `{ funnel { submissions } }`,
		"Query.deliveries":         `{ deliveries { edges { node { id } } } }`,
		"Query.audit":              `{ audit { edges { node { id } } } }`,
		"Query.verifyAudit":        `{ verifyAudit { entries } }`,
		"Query.logins":             `{ logins { id } }`,
		"Query.person":             `{ person(email: "nobody@example.com") { email } }`,
		"Query.operatorNames":      `{ operatorNames }`,
		"Query.serviceHealth":      `{ serviceHealth { version } }`,
		"Query.contentHealth":      `{ contentHealth { locale } }`,
		"Mutation.retryDelivery":   `mutation { retryDelivery(id: "999") { id } }`,
		"Mutation.resendLead":      `mutation { resendLead(id: "none-such", target: CMS) { state } }`,
		"Mutation.releaseLead":     `mutation { releaseLead(id: "none-such") { state } }`,
		"Mutation.rejectLead":      `mutation { rejectLead(id: "none-such") { state } }`,
		"Mutation.withdrawConsent": `mutation { withdrawConsent(id: "none-such", purpose: "news") { lead { state } } }`,
		"Mutation.setLeadOutcome":  `mutation { setLeadOutcome(id: "none-such", outcome: WON) { state } }`,
		"Mutation.assignLead":      `mutation { assignLead(id: "none-such", owner: "a@b.co") { state } }`,
		"Mutation.setLeadStatus":   `mutation { setLeadStatus(id: "none-such", status: CLOSED) { state } }`,
		"Mutation.addLeadNote":     `mutation { addLeadNote(id: "none-such", text: "note") { state } }`,
		"Mutation.releaseLeads":    `mutation { releaseLeads(ids: ["none-such"]) { changed } }`,
		"Mutation.rejectLeads":     `mutation { rejectLeads(ids: ["none-such"]) { changed } }`,
		"Mutation.retryLeads":      `mutation { retryLeads(ids: ["none-such"]) { changed } }`,
		"Mutation.assignLeads":     `mutation { assignLeads(ids: ["none-such"]) { changed } }`,
		"Mutation.setLeadStatuses": `mutation { setLeadStatuses(ids: ["none-such"], status: NEW) { changed } }`,
		"Mutation.eraseLeads":      `mutation { eraseLeads(email: "nobody@example.com") { complete } }`,

		"Mutation.endLogin":         `mutation { endLogin(id: "none-such") { id } }`,
		"Mutation.endLogins":        `mutation { endLogins(ids: ["none-such"]) }`,
		"Mutation.retryDeliveries":  `mutation { retryDeliveries(all: true) }`,
		"Mutation.verifyDeliveries": `mutation { verifyDeliveries { leads } }`,
	}
}

// TestOperatorsWithoutDatabase: while the database is away, each field of operators says so,
// and none is taken for a fault of the service.
func TestOperatorsWithoutDatabase(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	s := apptest.Start(t, map[string]string{"DATABASE_URL": pg.NewDatabase(t)})
	id := s.Submits("one")
	pg.Stop(t)

	for name, document := range operatorDocuments(id) {
		want := "UPSTREAM_UNAVAILABLE"
		if name == "Query.serviceHealth" || strings.HasSuffix(document, "{ changed } }") {
			want = "" // they say what is away, or why each lead stays as it is
		}
		if _, code := s.Operates(schema.RoleAdmin, document); code != want {
			t.Errorf("%s: %q, want %q", name, code, want)
		}
	}
}

// TestRoles asks for every field of operators with each role.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	id := s.Submits("one")
	reference := lead.Reference(id)
	documents := operatorDocuments(reference)

	for name, least := range operatorRoles {
		document := documents[name]
		if strings.HasPrefix(name, "Lead") || strings.HasPrefix(name, "Subscription.") {
			continue // below, and in TestLiveRoles
		}
		if document == "" {
			t.Errorf("%s: there is no document that asks for it", name)
		}
		for _, role := range schema.AllRole {
			_, code := s.Operates(role, document)
			if allowed := covers(role, least); allowed == (code == "FORBIDDEN") ||
				!slices.Contains([]string{"", "FORBIDDEN", "NOT_FOUND"}, code) {
				t.Errorf("%s as %s: %q", name, role, code)
			}
		}
		if _, code := s.Operates("", document); code != "UNAUTHENTICATED" {
			t.Errorf("%s without a role: %q", name, code)
		}
	}

	const fields = "id sessionId contact { email } pdfUrl deliveries { id } noMailReason reference state"
	for _, document := range []string{
		`{ lead(id: "` + reference + `") { ` + fields + ` } }`,
		`{ leads { edges { cursor node { ` + fields + ` } } csv pageInfo { endCursor } } }`,
	} {
		for role, want := range map[schema.Role]string{schema.RoleViewer: reference, schema.RoleSales: id} {
			data, code := s.Operates(role, document)
			l := data.Lead
			if len(data.Leads.Edges) > 0 {
				l = data.Leads.Edges[0].Node
			}
			if code != "" || l == nil || l.ID != want || (l.Contact != nil) != (want == id) ||
				(l.SessionID != nil) != (want == id) || (l.PDFURL != nil) != (want == id) ||
				(l.Deliveries != nil) != (want == id) || l.Reference != reference ||
				len(data.Leads.Edges) > 0 && (data.Leads.CSV != nil) != (want == id) {
				t.Errorf("%s as %s: %s %+v", document, role, code, l)
			}
		}
	}

	// What a viewer sees is recorded nowhere, even where contact data was asked for.
	var actions []string
	entries, err := s.App.Data.Tables.AuditEntries(t.Context(), store.AuditFilter{Limit: 500})
	for _, e := range entries {
		if e.Action == "OPENED" || e.Action == "EXPORTED" {
			actions = append(actions, e.Action)
		}
	}
	if slices.Sort(actions); err != nil || !slices.Equal(actions, []string{"EXPORTED", "OPENED"}) {
		t.Errorf("%v: the audit has %v", err, actions)
	}
}

// A viewer can find neither a contact nor the id of a lead by asking often.
func TestViewersCannotGuess(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	id := s.Submits("one")
	reference := lead.Reference(id)

	search := func(text, after string) int {
		t.Helper()
		data, code := s.Operates(schema.RoleViewer,
			`{ leads(search: "`+text+`", after: `+after+`) { edges { cursor node { id } } } }`)
		if code != "" {
			t.Error(text, after, code)
		}
		for _, e := range data.Leads.Edges {
			cursor, _ := base64.RawURLEncoding.DecodeString(e.Cursor)
			if strings.Contains(string(cursor), id[:9]) {
				t.Errorf("the cursor holds more than the reference: %s", cursor)
			}
		}
		return len(data.Leads.Edges)
	}

	for text, want := range map[string]int{
		reference: 1, id[:3]: 1, "ana": 0, "one@example.com": 0, id[:9]: 0, id: 0, reference + " ana": 0,
	} {
		if n := search(text, "null"); n != want {
			t.Errorf("searching %q: %d leads, want %d", text, n, want)
		}
	}

	for _, text := range []string{id, id[:9]} {
		if data, code := s.Operates(schema.RoleViewer, `{ lead(id: "`+text+`") { state } }`); code != "" ||
			data.Lead != nil {
			t.Errorf("lead %q: %s %+v", text, code, data.Lead)
		}
	}

	// Positions on both sides of the id give the same page.
	data, _ := s.Operates(schema.RoleViewer, `{ leads { edges { cursor } } }`)
	position, err := base64.RawURLEncoding.DecodeString(data.Leads.Edges[0].Cursor)
	if err != nil || !strings.HasSuffix(string(position), " "+id[:8]) {
		t.Fatalf("the cursor stands for %q, %v", position, err)
	}
	for _, rest := range []string{"", "-", "zzzz"} {
		cursor := base64.RawURLEncoding.EncodeToString(fmt.Append(nil, string(position), rest))
		if n := search("", `"`+cursor+`"`); n != 0 {
			t.Errorf("after %q: %d leads", id[:8]+rest, n)
		}
	}
}

// TestTokensOfOperators: a token of ADMIN_TOKENS has the role that it names, and its holder's
// name is in the audit.
func TestTokensOfOperators(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{
		"ADMIN_PAGE":   "on",
		"ADMIN_TOKENS": "ana:sales:ana-0123456789abcdef,bo:viewer:bo-0123456789abcdef",
	})
	s.SubmitPriced("REST", "named", object{"projectType": "web-app"}, 1, 2, "EUR", "")

	ask := func(token, query string) string {
		body, _ := json.Marshal(map[string]string{"query": query})
		return string(s.Do("POST", "/graphql", string(body), "Authorization: Bearer "+token).Body)
	}
	const list, sessions = `{ leads { edges { node { contact { email } } } } }`, `{ logins { id } }`
	if got := ask("ana-0123456789abcdef", list); !strings.Contains(got, "@example.com") {
		t.Errorf("ana sees %s", got)
	}
	if got := ask("bo-0123456789abcdef", list); strings.Contains(got, "@example.com") {
		t.Errorf("bo sees %s", got)
	}
	if got := ask("ana-0123456789abcdef", sessions); !strings.Contains(got, "FORBIDDEN") {
		t.Errorf("ana sees sessions: %s", got)
	}
	if got := ask("dev-admin-token", `{ audit { edges { node { actor } } } }`); !strings.Contains(got, `"token:ana"`) {
		t.Errorf("the audit says %s", got)
	}
}
