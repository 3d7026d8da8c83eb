package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"siteapi/schema"
)

// audited returns the entries of the audit, the oldest first, each as "actor action lead".
func (b *browser) audited() (entries []string, list []schema.AuditEntry) {
	b.t.Helper()
	_, answer := b.send("POST", "/graphql",
		`{"query":"{ audit(first: 500) { edges { node { at actor action lead detail hash } } } }"}`,
		"Authorization: Bearer secret-of-operators")

	var data struct {
		Data struct{ Audit schema.AuditConnection }
	}
	raw, _ := json.Marshal(answer)
	if err := json.Unmarshal(raw, &data); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range data.Data.Audit.Edges {
		entries = append(entries, fmt.Sprint(e.Node.Actor, " ", e.Node.Action, " ", schema.ValueOr(e.Node.Lead, "-")))
		list = append(list, *e.Node)
	}
	slices.Reverse(entries)
	slices.Reverse(list)
	return entries, list
}

// What operators do through the schema and with commands is stored, without contact data.
func TestAudit(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	s := newSite(t, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=secret-of-operators").start()
	b := &browser{t: t, base: "http://" + admin}

	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	_, answer := s.post("/api/quote/submit", bot)
	spam, _ := answer["submissionId"].(string)
	id := s.submit("one")
	s.arrives(id)

	for _, operation := range []string{
		`{ leads { edges { node { state } } } }`, // no contact data, no entry
		`{ leads(search: \"one@example.com\", locale: ro) { edges { node { contact { email } } } } }`,
		`{ leads { csv edges { cursor } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`,
		`{ lead(id: \"` + id + `\") { contact { email } } }`, // again at once
		`mutation { rejectLead(id: \"` + spam + `\") { state } }`,
		`mutation { rejectLead(id: \"nosuch12\") { state } }`,
		`mutation { releaseLead(id: \"` + spam + `\") { state } }`,
		`mutation { resendLead(id: \"` + id + `\", target: CRM) { state } }`,
	} {
		b.send("POST", "/graphql", `{"query":"`+operation+`"}`, "Authorization: Bearer secret-of-operators")
	}

	s.arrives(spam)
	s.run("leads", "list", "--search", "one@example.com")
	s.run("leads", "show", id)
	s.run("leads", "export")
	s.run("leads", "erase", "--email", "one@example.com", "--yes", "--server", s.base)
	b.send("POST", "/graphql", `{"query":"mutation { eraseLeads(email: \"nobody@example.com\", dryRun: false) { complete } }"}`,
		"Authorization: Bearer secret-of-operators")

	got, list := b.audited()
	command := "command:"
	for _, e := range list {
		if strings.HasPrefix(e.Actor, command) {
			command = e.Actor
		}
		if strings.Contains(e.Detail, "one") || strings.Contains(e.Detail, "@") {
			t.Errorf("what was searched for is in the audit: %s", e.Detail)
		}
	}
	want := []string{
		"token LISTED -",
		"token EXPORTED -",
		"token OPENED " + id,
		"token REJECTED " + spam,
		"token RELEASED " + spam,
		"token RESENT " + id,
		command + " LISTED -",
		command + " OPENED " + id,
		command + " EXPORTED -",
		command + " ERASED " + id,
		"token ERASED -",
	}
	if !slices.Equal(got, want) || len(command) < len("command:x") {
		t.Fatalf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if detail := list[0].Detail; detail != `{"count":1,"locale":"ro","searched":true}` {
		t.Errorf("a list: %s", detail)
	}

	// The log has the head that the chain had at the start, and a copy of it is verified.
	eventually(t, "the head is in the log", func() bool { return strings.Contains(s.log.String(), "audit head") })
	s.says(
		said{args: "audit verify", want: []string{"11 entries", "head: " + list[10].Hash}},
		said{args: "audit verify --head " + list[3].Hash, want: []string{"11 entries"}},
	)
	s.damage(`DELETE FROM audit WHERE seq = 5`)
	if out, code := s.run("audit", "verify"); code != 2 || !strings.Contains(out, "entry 5 is missing") {
		t.Errorf("%d %s", code, out)
	}
}
