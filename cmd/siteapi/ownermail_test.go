package main

import (
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/schema"
)

// An operator is told by mail which leads another one gave to it, without contact data: one
// mail for several leads, none for those that were erased or given to another one meanwhile.
func TestOwnerMail(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	env["VISITOR_MAIL"] = "off"
	s := startService(t, env, quick)
	one, two, three := s.submitMailed(t, "one"), s.submitMailed(t, "two"), s.submitMailed(t, "three")

	as := func(mutation string) {
		t.Helper()
		if _, code := s.operates(schema.RoleSales, `mutation { `+mutation+` }`); code != "" {
			t.Fatal(mutation, code)
		}
	}
	assign := func(id, owner string) { t.Helper(); as(`assignLead(id: "` + id + `", owner: "` + owner + `") { id }`) }
	assign(one, "Maria@lumen.test")
	eventually(t, "the owner is told", func() bool { return len(mailsTo(server, "maria@lumen.test")) == 1 })

	told := mailsTo(server, "maria@lumen.test")[0]
	found := map[string]string{}
	parts(t, told.Header.Get("Content-Type"), told.Body, found)
	reference := lead.Reference(one)
	if !strings.Contains(found["text/plain"], "https://lumen.test/admin#leads?search="+reference) ||
		!strings.Contains(told.Header.Get("Subject"), "=?") && !strings.Contains(told.Header.Get("Subject"), reference) {
		t.Errorf("%v %s", told.Header, found["text/plain"])
	}
	for name, text := range found {
		for _, personal := range []string{one, "Ana", "Pop", address("one")} {
			if strings.Contains(text, personal) {
				t.Errorf("%s has %q: %s", name, personal, text)
			}
		}
	}

	assign(one, "maria@lumen.test") // again: there is nothing to tell
	assign(two, "someone@lumen.test")
	as(`assignLeads(ids: ["` + one + `", "` + two + `", "` + three + `", "nosuch12"], owner: "paul@lumen.test") { changed }`)
	eventually(t, "the next owner is told", func() bool { return len(mailsTo(server, "paul@lumen.test")) == 1 })
	all := map[string]string{}
	told = mailsTo(server, "paul@lumen.test")[0]
	parts(t, told.Header.Get("Content-Type"), told.Body, all)
	for _, id := range []string{one, two, three} {
		if !strings.Contains(all["text/plain"], lead.Reference(id)) {
			t.Errorf("the mail lacks %s: %s", lead.Reference(id), all["text/plain"])
		}
	}

	// While the mail server refuses, one lead is erased, and one is given to another operator.
	server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
	as(`assignLeads(ids: ["` + one + `", "` + two + `", "` + three + `"], owner: "late@lumen.test") { changed }`)
	assign(two, "maria@lumen.test")
	erase := `mutation { eraseLeads(email: "` + address("one") + `", dryRun: false) { complete } }`
	if data, code := s.operates(schema.RoleAdmin, erase); code != "" {
		t.Fatal(code, data)
	}
	server.Heal()
	eventually(t, "the mail is sent after all", func() bool { return len(mailsTo(server, "late@lumen.test")) == 1 })
	late := map[string]string{}
	told = mailsTo(server, "late@lumen.test")[0]
	parts(t, told.Header.Get("Content-Type"), told.Body, late)
	for id, want := range map[string]bool{one: false, two: false, three: true} {
		if strings.Contains(told.Header.Get("Subject")+late["text/plain"], lead.Reference(id)) != want {
			t.Errorf("%s is in the mail, want %v: %s", lead.Reference(id), want, late["text/plain"])
		}
	}

	eventually(t, "the other one is told", func() bool { return len(mailsTo(server, "maria@lumen.test")) == 2 })
	if len(mailsTo(server, "someone@lumen.test")) != 0 {
		t.Error("the caller is told of what it did")
	}
}
