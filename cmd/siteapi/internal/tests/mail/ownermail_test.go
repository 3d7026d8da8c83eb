package mail

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/resolvers/leadmail"
	"siteapi/schema"
)

// An operator gets a mail, without contact data, about leads that another operator
// assigned. One mail covers several leads. Leads that are erased or reassigned before it
// is sent are left out, and a mail without leads is not sent.
func TestOwnerMail(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "VISITOR_MAIL=off", "ADMIN_TOKENS="+apptest.Owners(
		"maria@lumen.test", "someone@lumen.test", "paul@lumen.test", "late@lumen.test", "gone@lumen.test"))
	s := apptest.Start(t, env...)
	one, two, three := submitMailed(s, t, "one"), submitMailed(s, t, "two"), submitMailed(s, t, "three")

	as := func(mutation string) {
		t.Helper()
		if _, code := s.OperateAs(schema.RoleSales, `mutation { `+mutation+` }`); code != "" {
			t.Fatal(mutation, code)
		}
	}
	assign := func(id, owner string) { t.Helper(); as(`assignLead(id: "` + id + `", owner: "` + owner + `") { id }`) }
	assign(one, "Maria@lumen.test")
	apptest.Mailed(t, server, "maria@lumen.test", 1)

	sent := apptest.MailsTo(server, "maria@lumen.test")[0]
	found := map[string]string{}
	parts(t, sent.Header.Get("Content-Type"), sent.Body, found)
	reference := lead.Reference(one)
	if !strings.Contains(found["text/plain"], "https://lumen.test/admin#leads?search="+reference) ||
		!strings.Contains(sent.Header.Get("Subject"), "=?") && !strings.Contains(sent.Header.Get("Subject"), reference) {
		t.Errorf("%v %s", sent.Header, found["text/plain"])
	}
	delete(found, "image/png") // the logo, in base64
	for name, text := range found {
		for _, personal := range []string{one, "Ana", "Pop", address("one")} {
			if strings.Contains(text, personal) {
				t.Errorf("%s contains %q: %s", name, personal, text)
			}
		}
	}

	assign(one, "maria@lumen.test") // no change, so no mail
	assign(two, "someone@lumen.test")
	as(`assignLeads(ids: ["` + one + `", "` + two + `", "` + three + `", "nosuch12"], owner: "paul@lumen.test") { changed }`)
	apptest.Mailed(t, server, "paul@lumen.test", 1)
	all := map[string]string{}
	sent = apptest.MailsTo(server, "paul@lumen.test")[0]
	parts(t, sent.Header.Get("Content-Type"), sent.Body, all)
	for _, id := range []string{one, two, three} {
		if !strings.Contains(all["text/plain"], lead.Reference(id)) {
			t.Errorf("the mail lacks %s: %s", lead.Reference(id), all["text/plain"])
		}
	}

	// While the mail server rejects mails, one lead is erased and one is reassigned.
	server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
	as(`assignLeads(ids: ["` + one + `", "` + two + `", "` + three + `"], owner: "late@lumen.test") { changed }`)
	assign(two, "maria@lumen.test")
	assign(one, "gone@lumen.test") // the only lead of that mail
	erase := `mutation { eraseLeads(email: "` + address("one") + `", dryRun: false) { complete } }`
	if data, code := s.OperateAs(schema.RoleAdmin, erase); code != "" {
		t.Fatal(code, data)
	}
	server.Heal()
	apptest.Mailed(t, server, "late@lumen.test", 1)
	late := map[string]string{}
	sent = apptest.MailsTo(server, "late@lumen.test")[0]
	parts(t, sent.Header.Get("Content-Type"), sent.Body, late)
	for id, want := range map[string]bool{one: false, two: false, three: true} {
		if strings.Contains(sent.Header.Get("Subject")+late["text/plain"], lead.Reference(id)) != want {
			t.Errorf("%s is in the mail, want %v: %s", lead.Reference(id), want, late["text/plain"])
		}
	}

	apptest.Mailed(t, server, "maria@lumen.test", 2)
	apptest.Eventually(t, "no mail to an owner is pending", func() bool { return ownerMailsDone(s) == 5 })

	// The job of the mail is stored with the assignment, so nothing that happens to the request
	// or the service afterward prevents it.
	key, err := s.App.Data.Store.HashKey(t.Context())
	must(t, err)
	notify := leadmail.New(leadmail.Deps{Key: key, Settings: leadmail.Settings{Sender: mailfile.Open(t.TempDir())}}).
		NotifyOwner(t.Context(), "over@lumen.test")
	if _, err := s.App.Data.Store.Assign(t.Context(), []string{three}, "over@lumen.test", notify); err != nil {
		t.Fatal(err)
	}
	apptest.Mailed(t, server, "over@lumen.test", 1)

	for _, address := range []string{"someone@lumen.test", "gone@lumen.test"} {
		if len(apptest.MailsTo(server, address)) != 0 {
			t.Errorf("%s was notified", address) // the assigning operator, or the owner of an erased lead
		}
	}
}

// A waiting mail to an owner is sent with the settings of the next start, even if its
// mail server and tokens changed.
func TestOwnerMailWithOtherSettings(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		server, env := apptest.MailServer(t, smtptest.Options{}, "VISITOR_MAIL=off", "DATABASE_URL="+database,
			"CACHE_API_TOKEN=former", "ADMIN_TOKENS="+apptest.Owners("maria@lumen.test"))
		s := apptest.Start(t, env...)
		id := submitMailed(s, t, "one")

		server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
		assign := `mutation { assignLead(id: "` + id + `", owner: "maria@lumen.test") { id } }`
		if _, code := s.OperateAs(schema.RoleSales, assign); code != "" {
			t.Fatal(code)
		}

		next, env := apptest.MailServer(t, smtptest.Options{}, "CACHE_API_TOKEN=next,former")
		s.Restart(env...)
		apptest.Mailed(t, next, "maria@lumen.test", 1)
	})
}

// ownerMailsDone returns the number of mails to owners that were sent or dropped.
func ownerMailsDone(s *apptest.Service) (n float64) {
	s.T.Helper()
	families, err := s.App.Metrics.Registry.Gather()
	must(s.T, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if text := m.String(); strings.Contains(text, `"owner_mail"`) && strings.Contains(text, `"delivered"`) {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// An operator who signed in with an account gets no mail about a self-assigned lead. The
// address is taken from the provider only if it is verified, and is stored only with the
// login.
func TestOwnerMailNotToOneself(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "VISITOR_MAIL=off", "ADMIN_TOKENS="+apptest.Owners(
		"dana@lumen.test", "first-0@lumen.test", "first-1@lumen.test", "next-0@lumen.test", "next-1@lumen.test"))
	p := apptest.NewProvider(t)
	p.Groups = "desk"
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(p.Env(address), env...)...).Start()
	b := apptest.NewBrowser(t, address)
	one, two := s.Submit("one"), s.Submit("two")

	signIn := func(claims map[string]any, want string) {
		t.Helper()
		p.Set(func() { p.Claims = claims })
		if _, text := b.SignIn(); b.Cookie == nil {
			t.Fatal(text)
		}
		if _, response := b.Send("GET", "/admin/operator", ""); response["email"] != want {
			t.Errorf("%v: the login has the address %q, want %q", claims, response["email"], want)
		}
	}
	assign := func(id, owner string) {
		t.Helper()
		code, _ := b.Runs("/admin/graphql", `mutation { row: assignLead(id: "`+id+`", owner: "`+owner+`") { value: owner } }`)
		if code != "" {
			t.Fatal(owner, code)
		}
	}
	notified := func(owner string) {
		t.Helper()
		apptest.Mailed(t, server, owner, 1)
	}

	dana := "dana@lumen.test"
	signIn(nil, "")
	signIn(map[string]any{"email": dana}, "")
	signIn(map[string]any{"email": dana, "email_verified": false}, "")
	assign(one, dana)
	notified(dana)

	for i, verified := range []any{true, "true"} {
		signIn(map[string]any{"email": "Dana@Lumen.test", "email_verified": verified}, dana)
		first, next := fmt.Sprintf("first-%d@lumen.test", i), fmt.Sprintf("next-%d@lumen.test", i)
		assign(one, first)
		notified(first)
		assign(one, "DANA@lumen.test")
		assign(two, next)
		notified(next)
	}
	if n := len(apptest.MailsTo(server, dana)); n != 1 {
		t.Errorf("dana got %d mails, want 1 and none about self-assigned leads", n)
	}

	// A check of the role also updates the address.
	p.Set(func() { p.Claims = map[string]any{"email": "new@lumen.test", "email_verified": true} })
	s.Damage(`UPDATE logins SET check_at = 1`)
	if _, response := b.Send("GET", "/admin/operator", ""); response["email"] != "new@lumen.test" {
		t.Errorf("after the check the login has the address %q", response["email"])
	}

	for _, address := range []string{dana, "new@lumen.test"} {
		if strings.Contains(strings.ToLower(s.Log.String()), address) {
			t.Errorf("%s appears in the log", address)
		}
	}
}
