package leads

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema/exec"
)

// naming is an argument of an operators' field that names a lead.
type naming struct {
	operation string // query or mutation
	field     *ast.FieldDefinition
	arg       string
}

// namings returns all such arguments of the schema.
func namings() (list []naming) {
	for operation, root := range map[string]*ast.Definition{"query": exec.AST().Query, "mutation": exec.AST().Mutation} {
		for _, field := range root.Fields {
			auth := field.Directives.ForName("auth")
			if auth == nil || auth.Arguments.ForName("token").Value.Raw != "ADMIN" {
				continue
			}
			for _, arg := range field.Arguments {
				if arg.Name == "lead" || arg.Name == "leads" {
					list = append(list, naming{operation, field, arg.Name})
				}
			}
		}
	}
	return list
}

// run runs the field with a name of a lead, and returns the response.
func (n naming) run(b *apptest.Browser, name string) string {
	b.T.Helper()
	text, _ := json.Marshal(name)
	arguments := []string{n.arg + ": " + string(text)}
	for _, other := range n.field.Arguments {
		if other.Name != n.arg && other.Type.NonNull && other.DefaultValue == nil {
			sample := map[string]string{"DeliveryTarget": "CRM", "LeadStatus": "CONTACTED", "String": `"marketing"`}
			arguments = append(arguments, other.Name+": "+sample[other.Type.Name()])
		}
	}

	selection := map[string]string{
		"DeclinedDeletion": "mailed",
		"ErasureReceipt":   "complete",
		"Lead":             "id",
		"LeadPayload":      "lead { id }",
		"LeadsPayload":     "failed { lead reason }",
		"Withdrawal":       "leads",
	}[n.field.Type.Name()]
	if selection == "" {
		selection = "edges { cursor }"
	}
	document := fmt.Sprintf("%s { %s(%s) { %s } }", n.operation, n.field.Name, strings.Join(arguments, ", "), selection)
	operator := apptest.Client{T: b.T, Base: b.Base}
	return operator.Query(document, nil, "Authorization: Bearer secret-of-operators").String()
}

// Every argument of the schema with the id of a lead also takes the reference and the address,
// as people write them. Any other name fails instead of finding nothing, and so does the
// address of several leads where one is changed.
func TestLeadsAreNamed(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	id := s.Submit("one")
	for _, session := range []string{"two", "three"} {
		s.Submit(session, `"contact": {"email": "several@example.com"}`)
	}
	reference := lead.Reference(id)

	list := namings()
	if len(list) < 12 {
		t.Fatalf("only %d arguments name a lead", len(list))
	}
	for _, n := range list {
		argument := n.field.Name + "." + n.arg
		for name, why := range map[string]string{
			id:                              "as programs store it",
			strings.ToUpper(id):             "as a ticket system may print it",
			reference:                       "as the PDF has it",
			strings.ToLower(reference):      "as people type it",
			" " + reference + "\t":          "as people paste it from a table",
			"\u200b" + reference + "\u00a0": "as people paste it from a web page",
			"one@example.com":               "as the visitor typed it",
			"One@Example.COM":               "as a mail program shows it",
			" one@example.com ":             "as people paste it",
			`"one"@example.com`:             "as RFC 5321 allows it",
		} {
			if got := n.run(b, name); strings.Contains(got, "NOT_FOUND") || strings.Contains(got, "invalid fields") {
				t.Errorf("%s does not find the lead by %q, %s: %s", argument, name, why, got)
			}
		}

		for _, name := range []string{"zzzzzzzz", id[:7], id + "z", "nobody@example.com", "one@", "@example.com", "%", "~~~~~~~~", "🙂🙂🙂", "null"} {
			got := n.run(b, name)
			isPerson := n.field.Name == "withdrawConsent" && strings.HasPrefix(name, "nobody@") // with or without a lead
			if strings.Contains(got, "NOT_FOUND") == isPerson {
				t.Errorf("%s with %q is %s", argument, name, got)
			}
		}

		got := n.run(b, "several@example.com")
		covers := slices.Contains([]string{"deliveries", "audit", "withdrawConsent"}, n.field.Name)
		if strings.Contains(got, "several@example.com has several leads: name one of ") == covers {
			t.Errorf("%s of several leads is %s", argument, got)
		}
	}
}

// After an erasure, the audit still answers for the reference, and nothing else does.
func TestAuditOfAnErasedLead(t *testing.T) {
	t.Parallel()
	s, b := newOperatedSite(t)
	id := s.Submit("erased")
	s.Prints("leads erase --email erased@example.com --yes --server " + s.Base)
	for _, n := range namings() {
		got := n.run(b, strings.ToLower(lead.Reference(id)))
		if found := !strings.Contains(got, "NOT_FOUND"); found != (n.field.Name == "audit") {
			t.Errorf("%s: %s", n.field.Name, got)
		}
	}
}

// A filter with a value that no lead has is an error that names the values, in lists, exports
// and the funnel; letter case does not matter.
func TestFiltersWithUnknownValues(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		s := apptest.NewSite(t, "DATABASE_URL="+database).Start()
		for i, source := range []string{"Știri", "newsletter", "Newsletter"} {
			s.Submit(fmt.Sprint("visit-", i), `"consents": [{"purpose": "marketing", "given": true}]`,
				fmt.Sprintf(`"attribution": {"source": %q, "campaign": "Frühling %d"}`, source, i))
		}

		for args, want := range map[string]int{
			"--source newsletter":        2, // both spellings
			"--source NEWSLETTER":        2,
			"--source știri":             1, // letters that SQLite's lower() leaves alone
			"--source ȘTIRI":             1,
			"--campaign FRÜHLING_0":      1,
			"--campaign frühling_2":      1,
			"--project web-app":          3,
			"--consent marketing":        3,
			"--source none":              0, // without a source
			"--since 2020-01-01":         3,
			"--search nothing":           0, // any words
			"--email nobody@example.com": 0, // a person with or without leads
		} {
			list := []object{}
			words := append([]string{"leads", "list"}, strings.Fields(args)...)
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], "_", " ")
			}
			if s.JSON(&list, words...); len(list) != want {
				t.Errorf("leads list %s lists %d leads, want %d", args, len(list), want)
			}
		}

		refused := map[string]string{}
		for args, want := range map[string]string{
			"--source nope":                         "--source: must be one of ",
			"--campaign nope":                       "--campaign: must be one of Frühling 0, Frühling 1, Frühling 2",
			"--project web-ap":                      "--project: must be one of web-app",
			"--consent marketin":                    "--consent: must be one of marketing",
			"--owner nobody@example.com":            "signed in with an account",
			"--email nobody":                        "--email: must be an e-mail address",
			"--since 2026-02-01 --until 2026-01-01": "--since: must not be greater than until",
			"--status opened":                       "must be one of new, contacted",
			"--state won":                           "must be one of in-review",
			"--locale fr":                           "must be one of en, es, ro",
		} {
			refused["leads list "+args], refused["leads export "+args] = want, want
		}
		refused["funnel --source nope"] = "Newsletter, newsletter, Știri"
		refused["funnel --campaign nope"] = "Frühling 0"
		refused["funnel --since 2026-02-01 --until 2026-01-01"] = "--since: must not be greater than until"
		s.Refuses(refused)
	})
}
