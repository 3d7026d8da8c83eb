package leads

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
	"siteapi/schema/exec"
)

const viewer, sales, admin = schema.RoleViewer, schema.RoleSales, schema.RoleAdmin

// operatorFields are the root fields for operators. Each has the lowest role that may use
// it and a document that selects it but changes nothing.
var operatorFields = map[string]struct {
	least    schema.Role
	document string
}{
	"Query.leads":               {viewer, `{ leads { edges { node { state } } } }`},
	"Query.lead":                {viewer, `{ lead(lead: "REFERENCE") { state } }`},
	"Query.funnel":              {viewer, `{ funnel { leads } }`},
	"Query.deliveries":          {sales, `{ deliveries { edges { node { id } } } }`},
	"Query.serviceHealth":       {admin, `{ serviceHealth { version } }`},
	"Query.contentHealth":       {viewer, `{ contentHealth { locale } }`},
	"Query.audit":               {admin, `{ audit { edges { node { id } } } }`},
	"Query.verifyAudit":         {admin, `{ verifyAudit { entries } }`},
	"Query.logins":              {admin, `{ logins { id } }`},
	"Query.unfinishedQuotes":    {sales, `{ unfinishedQuotes { edges { node { email } } } }`},
	"Query.person":              {sales, `{ person(email: "nobody@example.com") { email } }`},
	"Query.leadReport":          {sales, `{ leadReport { total { leads } } }`},
	"Query.operatorNames":       {viewer, `{ operatorNames }`},
	"Query.leadOwners":          {sales, `{ leadOwners }`},
	"Mutation.dismissDelivery":  {sales, `mutation { dismissDelivery(id: "1000000", reason: "No.") { delivery { id } } }`},
	"Mutation.resendLead":       {sales, `mutation { resendLead(lead: "none-such", target: CMS) { lead { state } } }`},
	"Mutation.withdrawConsent":  {sales, `mutation { withdrawConsent(lead: "none-such", purpose: "news") { lead { state } } }`},
	"Mutation.setLeadOutcome":   {sales, `mutation { setLeadOutcome(lead: "none-such", outcome: WON) { lead { state } } }`},
	"Mutation.setLeadFollowUp":  {sales, `mutation { setLeadFollowUp(lead: "none-such") { lead { state } } }`},
	"Mutation.markLeadAnswered": {sales, `mutation { markLeadAnswered(lead: "none-such") { lead { state } } }`},
	"Mutation.declineDeletion":  {admin, `mutation { declineDeletion(lead: "none-such", reason: "Kept") { mailed } }`},
	"Mutation.eraseLeads":       {admin, `mutation { eraseLeads(email: "nobody@example.com") { complete } }`},
	"Mutation.addLeadNote":      {sales, `mutation { addLeadNote(lead: "none-such", text: "note") { lead { state } } }`},
	"Mutation.releaseLeads":     {sales, `mutation { releaseLeads(leads: ["none-such"]) { changed } }`},
	"Mutation.rejectLeads":      {sales, `mutation { rejectLeads(leads: ["none-such"]) { changed } }`},
	"Mutation.retryLeads":       {sales, `mutation { retryLeads(leads: ["none-such"]) { changed } }`},
	"Mutation.assignLeads":      {sales, `mutation { assignLeads(leads: ["none-such"]) { changed } }`},
	"Mutation.setLeadStatuses":  {sales, `mutation { setLeadStatuses(leads: ["none-such"], status: NEW) { changed } }`},
	"Mutation.endLogins":        {admin, `mutation { endLogins(ids: ["none-such"]) { logins { id } } }`},
	"Mutation.retryDeliveries":  {sales, `mutation { retryDeliveries(ids: ["999"]) { changed } }`},
	"Mutation.verifyDeliveries": {admin, `mutation { verifyDeliveries { leads } }`},
	"Subscription.leadEvents":   {viewer, ""},
}

// personalFields are the fields of each type that a viewer does not see.
var personalFields = map[string]string{
	"LeadChange":  "id",
	"LeadOutcome": "by lossNote",
	"Lead": "id sessionId contact pdfUrl quoteUrl deliveries noMailReason consents message attribution " +
		"firstAttribution audit notes links sameAddress sameSession deletionReason crmContactUrl crmDealUrl",
}

// viewerFields are the fields that a viewer sees of each type.
var viewerFields = map[string]string{
	"LeadConnection": "edges pageInfo counts",
	"LeadEdge":       "cursor node",
	"PageInfo":       "hasNextPage hasPreviousPage startCursor endCursor",
	"LeadEvent":      "position restarted changes",
	"LeadChange":     "reference kind",
	"Lead": "reference state submittedAt locale selections estimate priceStatus price sentEstimate " +
		"signals outcome owner status deletionRequestedAt deletionDeclinedAt followUpAt answeredAt",
	"LeadOutcome":     "value amount currency at source lossReason",
	"LeadSelections":  "projectType features complexity timeline quantities",
	"LeadQuantity":    "slug count unit",
	"LeadEstimate":    "min max currency toBeAgreed",
	"LeadPrice":       "lines unpriced tax taxNote revision validUntil differs",
	"LeadPriceLine":   "field slug amount quantity unit unitPrice flat percent",
	"LeadTax":         "percent label included min max",
	"LeadCounts":      "total states statuses deletionRequests due",
	"LeadStateCount":  "state count",
	"LeadStatusCount": "status count",
	"Funnel":          "steps weeks choices sources leads untracked inReview rows",
	"FunnelRow":       "section from to dimension value currency count amount",
	"FunnelStep":      "name count conversion",
	"FunnelWeek":      "week start locale steps",
	"FunnelChoice":    "field value count submitted",
	"FunnelSource":    "source campaign sessions estimates leads sums won",
	"FunnelSum":       "currency amount",

	"ContentHealth":     "locale fetchedAt documents types",
	"ContentTypeHealth": "type documents updatedAt",
}

// rolesOf has for each role all that it includes. It repeats the service's table, so that a
// mistake there fails the tests.
var rolesOf = map[schema.Role][]schema.Role{
	viewer: {viewer},
	sales:  {viewer, sales},
	admin:  {viewer, sales, admin},
}

// covers reports whether a role includes another.
func covers(role, least schema.Role) bool { return slices.Contains(rolesOf[role], least) }

// Every role of the schema has its parts.
func TestEveryRole(t *testing.T) {
	t.Parallel()
	operations, settings := apptest.File(t, "cmd/siteapi/OPERATIONS.md"), apptest.File(t, "cmd/siteapi/README.md")
	access := apptest.File(t, "cmd/siteapi/internal/inbox/assistant.json")
	for _, role := range schema.AllRole {
		name := strings.ToLower(string(role))
		if rolesOf[role] == nil || groupOf[role] == "" {
			t.Errorf("%s: add it to rolesOf and groupOf in these tests", role)
		}
		if got := role.Included(); !slices.Equal(got, rolesOf[role]) || len(got) == 0 {
			t.Errorf("%s includes %s in the table of schema/role.go, and %s here", role, got, rolesOf[role])
		}
		if !strings.Contains(operations, "| `"+name+"` |") {
			t.Errorf("%s: add a row to the table of roles in OPERATIONS.md", role)
		}
		if !regexp.MustCompile("maps groups to the roles [^.]*`" + name + "`").MatchString(settings) {
			t.Errorf("%s: add it to the roles of OIDC_ROLES in cmd/siteapi/README.md", role)
		}
		if strings.Count(access, `"`+name+`": `) != len(schema.Locales()) {
			t.Errorf("%s: add its name in each language to internal/inbox/assistant.json", role)
		}
		for _, locale := range schema.Locales() {
			words := apptest.File(t, "cmd/siteapi/internal/pages/inbox/words/"+string(locale)+".ts")
			if !regexp.MustCompile(`roles: \{[^}]*\b` + string(role) + `: `).MatchString(words) {
				t.Errorf("%s: add it to roles in the words of the inbox, %s", role, locale)
			}
		}
	}
}

// A role that the table does not list may do nothing.
func TestUnlistedRole(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := s.Submit("one")
	for name, document := range operatorDocuments(id) {
		for _, role := range []schema.Role{"OWNER", "admin", "ADMIN "} {
			if _, code := s.OperateAs(role, document); code != "FORBIDDEN" {
				t.Errorf("%s as %q: %q", name, role, code)
			}
		}
	}
}

// Each operator field has a role, in the schema and in the tables above. A viewer sees no
// field that is missing from the tables.
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
				if !slices.Contains(strings.Fields(personalFields[name]), field.Name) {
					t.Errorf("%s is @personal, but not in personalFields", path)
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
				if want := operatorFields[path].least; role != want {
					t.Errorf("%s: @auth names the role %s, operatorFields %q", path, role, want)
				}
				if role == viewer {
					check(field.Type.Name())
				}
			}
		}
	}
	check("Query")
	check("Mutation")
	check("Subscription")
}

// operatorDocuments returns the documents of operatorFields for a lead.
func operatorDocuments(reference string) map[string]string {
	documents := map[string]string{}
	for name, field := range operatorFields {
		if field.document != "" {
			documents[name] = strings.ReplaceAll(field.document, "REFERENCE", reference)
		}
	}
	return documents
}

// While the database is down, each operator field returns UPSTREAM_UNAVAILABLE and not an
// internal error.
func TestOperatorsWithoutDatabase(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	s := apptest.Start(t, "DATABASE_URL="+pg.NewDatabase(t))
	id := s.Submit("one")
	pg.Stop(t)

	for name, document := range operatorDocuments(id) {
		want := "UPSTREAM_UNAVAILABLE"
		reportsEach := strings.Contains(document, `(leads: `) && name != "Mutation.assignLeads"
		if strings.HasSuffix(name, "Health") || reportsEach {
			want = "" // these report the outage, need no database, or report a reason for each lead
		}
		if _, code := s.OperateAs(admin, document); code != want {
			t.Errorf("%s: %q, want %q", name, code, want)
		}
	}
}

// A viewer can find neither contact data nor the id of a lead by repeated queries.
func TestViewersCannotGuess(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := s.Submit("one")
	reference := lead.Reference(id)

	search := func(text, after string) int {
		t.Helper()
		data, code := s.OperateAs(viewer,
			`{ leads(filter: {search: "`+text+`"}, after: `+after+`) { edges { cursor node { id } } } }`)
		if code != "" {
			t.Error(text, after, code)
		}
		for _, e := range data.Leads.Edges {
			cursor, _ := base64.RawURLEncoding.DecodeString(e.Cursor)
			if strings.Contains(string(cursor), id[:9]) {
				t.Errorf("the cursor contains more than the reference: %s", cursor)
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
		if data, code := s.OperateAs(viewer, `{ lead(lead: "`+text+`") { state } }`); code != "NOT_FOUND" ||
			data.Lead != nil {
			t.Errorf("lead %q: %s %+v", text, code, data.Lead)
		}
	}

	// Cursors before and after the id return the same page.
	data, _ := s.OperateAs(viewer, `{ leads { edges { cursor } } }`)
	position, _ := base64.RawURLEncoding.DecodeString(data.Leads.Edges[0].Cursor)
	for _, rest := range []string{"", "-", "zzzz"} {
		cursor := base64.RawURLEncoding.EncodeToString(fmt.Append(nil, string(position), rest))
		if n := search("", `"`+cursor+`"`); n != 0 {
			t.Errorf("after %q%s: %d leads", position, rest, n)
		}
	}
}
