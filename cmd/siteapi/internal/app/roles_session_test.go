package app

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/lead"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// groupOf is a group of each role in the settings of a provider.
var groupOf = map[schema.Role]string{
	schema.RoleViewer: "marketing",
	schema.RoleSales:  "desk",
	schema.RoleAdmin:  "ops",
}

// fieldDocuments asks for each field of operatorRoles that is below the root. Aliases name the
// way to it: row and value.
func fieldDocuments(t *testing.T, reference string) map[string]string {
	t.Helper()
	parents := map[string]string{
		"Lead":           `{ row: lead(id: "` + reference + `") { value: FIELD } }`,
		"LeadConnection": `{ row: leads { value: FIELD } }`,
		"LeadOutcome":    `{ row: lead(id: "` + reference + `") { value: outcome { value: FIELD } } }`,
	}

	documents := map[string]string{}
	for path := range operatorRoles {
		parent, name, _ := strings.Cut(path, ".")
		if parent == "Query" || parent == "Mutation" {
			continue
		}
		if parent == "Subscription" || parent == "LeadChange" {
			continue // TestLiveRoles reads the stream of events
		}
		if parents[parent] == "" {
			t.Errorf("%s: say in parents how to reach it", path)
			continue
		}

		types := exec.AST().Types
		field := name
		if types[types[parent].Fields.ForName(name).Type.Name()].Kind == ast.Object {
			field += " { __typename }"
		}
		documents[path] = strings.Replace(parents[parent], "FIELD", field, 1)
	}
	return documents
}

// runs runs a document, and returns the code of its error and the field of its aliases.
func (b *browser) runs(path, document string, headers ...string) (code string, value any) {
	b.t.Helper()
	body, _ := json.Marshal(object{"query": document})
	_, answer := b.send("POST", path, string(body), headers...)
	if code, ok := answer["code"].(string); ok {
		return code, nil
	}

	var result struct {
		Data   struct{ Row struct{ Value any } }
		Errors []struct{ Extensions struct{ Code string } }
	}
	raw, _ := json.Marshal(answer)
	if err := json.Unmarshal(raw, &result); err != nil {
		b.t.Errorf("%s: %v: %s", document, err, raw)
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

// Every field of operators is asked for in sessions of each role, and without one, through
// both listeners.
func TestRolesInSessions(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	address := freeAddress(t)
	s := newSite(t, append(p.environ(address), "ADMIN_PAGE=on")...).start()
	reference := lead.Reference(s.submit("one"))

	script := &browser{t: t, base: "http://" + address}
	if code, _ := script.runs("/graphql", `mutation { setLeadOutcome(id: "`+reference+`", outcome: QUALIFIED) { state } }`,
		"Authorization: Bearer secret-of-operators"); code != "" {
		t.Fatal(code)
	}

	documents := operatorDocuments(reference)
	maps.Copy(documents, fieldDocuments(t, reference))
	for role, group := range groupOf {
		p.set(func() { p.groups = []string{group} })
		in := &browser{t: t, base: "http://" + address}
		if _, text := in.signsIn(); in.cookie == nil {
			t.Fatal(text)
		}

		for _, base := range []string{in.base, s.base} {
			in := &browser{t: t, base: base, cookie: in.cookie, csrf: in.csrf}
			for name, document := range documents {
				code, value := in.runs("/admin/graphql", document)
				root := strings.HasPrefix(name, "Query.") || strings.HasPrefix(name, "Mutation.")
				switch allowed := covers(role, operatorRoles[name]); {
				case allowed && code != "" && (code != "NOT_FOUND" || !root),
					!allowed && root && code != "FORBIDDEN",
					!allowed && !root && (code != "" || value != nil && value != reference):
					t.Errorf("%s as %s at %s: %q %v", name, role, base, code, value)
				}
			}
		}
	}

	for _, base := range []string{"http://" + address, s.base} {
		out := &browser{t: t, base: base}
		for name, document := range documents {
			for _, path := range []string{"/admin/graphql", "/graphql"} {
				if code, _ := out.runs(path, document); code != "UNAUTHENTICATED" {
					t.Errorf("%s without a session at %s%s: %q", name, base, path, code)
				}
			}
			if code, _ := out.runs("/graphql", document, "Authorization: Bearer secret-of-operators"); code != "" &&
				code != "NOT_FOUND" {
				t.Errorf("%s with the token at %s: %q", name, base, code)
			}
		}
	}
}

// Without ADMIN_PAGE the public listener answers no operator, whatever the request brings.
func TestRolesAtThePublicListener(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.groups = "ops"
	address := freeAddress(t)
	s := newSite(t, p.environ(address)...).start()
	reference := lead.Reference(s.submit("one"))

	in := &browser{t: t, base: "http://" + address}
	if _, text := in.signsIn(); in.cookie == nil {
		t.Fatal(text)
	}

	out := &browser{t: t, base: s.base, cookie: in.cookie, csrf: in.csrf}
	for name, document := range operatorDocuments(reference) {
		code, _ := out.runs("/graphql", document, "Authorization: Bearer secret-of-operators")
		if code != "UNAUTHENTICATED" {
			t.Errorf("%s: %q", name, code)
		}
		if code, _ := out.runs("/admin/graphql", document); code != "NOT_FOUND" {
			t.Errorf("%s in the session: %q", name, code)
		}
	}
	for _, path := range []string{"/admin", "/admin/login", "/admin/callback", "/admin/session"} {
		if resp, _ := out.send("GET", path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
