package leads

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// groupOf has the provider's group for each role.
var groupOf = map[schema.Role]string{
	schema.RoleViewer: "marketing",
	schema.RoleSales:  "desk",
	schema.RoleAdmin:  "ops",
}

// fieldDocuments returns a document for each of the personalFields. The aliases row and
// value mark the path to the field.
func fieldDocuments(t *testing.T, reference string) map[string]string {
	t.Helper()
	parents := map[string]string{
		"Lead":           `{ row: lead(lead: "` + reference + `") { value: FIELD } }`,
		"LeadConnection": `{ row: leads { value: FIELD } }`,
		"LeadOutcome":    `{ row: lead(lead: "` + reference + `") { value: outcome { value: FIELD } } }`,
	}

	documents, types := map[string]string{}, exec.AST().Types
	for parent, names := range personalFields {
		if parent == "LeadChange" {
			continue // TestLiveRoles reads the stream of events
		}
		if parents[parent] == "" {
			t.Errorf("%s: add a document to parents", parent)
			continue
		}

		for _, name := range strings.Fields(names) {
			field := name
			if types[types[parent].Fields.ForName(name).Type.Name()].Kind == ast.Object {
				field += " { __typename }"
			}
			documents[parent+"."+name] = strings.Replace(parents[parent], "FIELD", field, 1)
		}
	}
	return documents
}

// Every operator field is queried with logins of each role, and without a login, through
// both listeners.
func TestRolesOfLogins(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(p.Env(address), "ADMIN_PAGE=on")...).Start()
	reference := lead.Reference(s.Submit("one"))

	script := apptest.NewBrowser(t, address)
	if code, _ := script.Runs("/graphql", `mutation { setLeadOutcome(lead: "`+reference+`", outcome: QUALIFIED) { lead { state } } }`,
		"Authorization: Bearer secret-of-operators"); code != "" {
		t.Fatal(code)
	}

	documents := operatorDocuments(reference)
	maps.Copy(documents, fieldDocuments(t, reference))
	for _, role := range schema.AllRole {
		p.Set(func() { p.Groups = []string{groupOf[role]} })
		in := apptest.NewBrowser(t, address)
		if _, text := in.SignIn(); in.Cookie == nil {
			t.Fatal(text)
		}

		for _, base := range []string{in.Base, s.Base} {
			in := &apptest.Browser{T: t, Base: base, Cookie: in.Cookie}
			for name, document := range documents {
				code, value := in.Runs("/admin/graphql", document)
				root := strings.HasPrefix(name, "Query.") || strings.HasPrefix(name, "Mutation.")
				switch allowed := covers(role, cmp.Or(operatorFields[name].least, schema.RoleSales)); {
				case allowed && code != "" && (code != "NOT_FOUND" || !root),
					!allowed && root && code != "FORBIDDEN",
					!allowed && !root && (code != "" || value != nil && value != reference):
					t.Errorf("%s as %s at %s: %q %v", name, role, base, code, value)
				}
			}
		}
	}

	for _, base := range []string{"http://" + address, s.Base} {
		out := apptest.NewBrowser(t, base)
		for name, document := range documents {
			for _, path := range []string{"/admin/graphql", "/graphql"} {
				if code, _ := out.Runs(path, document); code != "UNAUTHENTICATED" {
					t.Errorf("%s without a login at %s%s: %q", name, base, path, code)
				}
			}
			if code, _ := out.Runs("/graphql", document, "Authorization: Bearer secret-of-operators"); code != "" &&
				code != "NOT_FOUND" {
				t.Errorf("%s with the token at %s: %q", name, base, code)
			}
		}
	}
}

// Notes, outcomes and the history show the verified address of an account, or the name of
// a token. A token has the role from the settings. The audit keeps the subject.
func TestOperatorsAreNamed(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	p.Groups, p.Claims = "desk", map[string]any{"email": "Dana@Lumen.test", "email_verified": true}
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(p.Env(address), "ADMIN_TOKENS=bo:sales:bo-0123456789abcdef")...).Start()
	id := s.Submit("one")

	dana := apptest.NewBrowser(t, address)
	if _, text := dana.SignIn(); dana.Cookie == nil {
		t.Fatal(text)
	}
	const bo = "Authorization: Bearer bo-0123456789abcdef"
	for _, step := range []struct{ path, document, want string }{
		{"/admin/graphql", `mutation { row: addLeadNote(lead: "ID", text: "called") { value: lead { value: reference } } }`, lead.Reference(id)},
		{"/admin/graphql", `mutation { row: setLeadOutcome(lead: "ID", outcome: WON) { value: lead { value: reference } } }`, lead.Reference(id)},
		{
			"/graphql", `mutation { row: addLeadNote(lead: "ID", text: "again") { value: lead { value: notes { author } } } }`,
			"[map[author:dana@lumen.test] map[author:bo]]",
		},
		{"/graphql", `{ row: logins { id } }`, "FORBIDDEN"},
		{"/admin/graphql", `{ row: lead(lead: "ID") { value: outcome { by } } }`, "map[by:dana@lumen.test]"},
		{
			"/admin/graphql", `{ row: lead(lead: "ID") { value: audit { actor name action } } }`,
			"[map[action:OPENED actor:oidc:person-1 name:dana@lumen.test] " +
				"map[action:NOTE actor:token:bo name:bo] " +
				"map[action:OPENED actor:token:bo name:bo] " +
				"map[action:OUTCOME actor:oidc:person-1 name:dana@lumen.test] " +
				"map[action:NOTE actor:oidc:person-1 name:dana@lumen.test]]",
		},
	} {
		var headers []string
		if step.path == "/graphql" {
			headers = []string{bo}
		}
		code, value := dana.Runs(step.path, strings.ReplaceAll(step.document, "ID", id), headers...)
		if got := fmt.Sprint(value); got != step.want && code != step.want {
			t.Errorf("%s: %s %s, want %s", step.document, code, got, step.want)
		}
	}
	_, response := dana.Send("POST", "/admin/graphql", `{"query":"{ operatorNames }"}`)
	if got := fmt.Sprint(response["data"]); got != "map[operatorNames:[bo dana@lumen.test]]" {
		t.Errorf("the operators' names are %s", got)
	}
}
