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
	one, two, three := submitMailed(s, "one"), submitMailed(s, "two"), submitMailed(s, "three")

	as := func(mutation string) {
		t.Helper()
		if _, code := s.OperateAs(schema.RoleSales, `mutation { `+mutation+` }`); code != "" {
			t.Fatal(mutation, code)
		}
	}
	assign := func(owner string, ids ...string) {
		t.Helper()
		as(fmt.Sprintf(`assignLeads(ids: %q, owner: %q) { changed }`, ids, owner))
	}
	assign("Maria@lumen.test", one)

	sent := apptest.Mailed(t, server, "maria@lumen.test", 1)
	found := contents(t, sent)
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

	assign("maria@lumen.test", one) // no change, so no mail
	assign("someone@lumen.test", two)
	assign("paul@lumen.test", one, two, three, "nosuch12")
	all := contents(t, apptest.Mailed(t, server, "paul@lumen.test", 1))["text/plain"]
	for _, id := range []string{one, two, three} {
		if !strings.Contains(all, lead.Reference(id)) {
			t.Errorf("the mail lacks %s: %s", lead.Reference(id), all)
		}
	}

	// While the mail server rejects mails, one lead is erased and one is reassigned.
	server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
	assign("late@lumen.test", one, two, three)
	assign("maria@lumen.test", two)
	assign("gone@lumen.test", one) // the only lead of that mail
	erase := `mutation { eraseLeads(email: "` + address("one") + `", dryRun: false) { complete } }`
	if data, code := s.OperateAs(schema.RoleAdmin, erase); code != "" {
		t.Fatal(code, data)
	}
	server.Heal()
	sent = apptest.Mailed(t, server, "late@lumen.test", 1)
	late := sent.Header.Get("Subject") + contents(t, sent)["text/plain"]
	for id, want := range map[string]bool{one: false, two: false, three: true} {
		if strings.Contains(late, lead.Reference(id)) != want {
			t.Errorf("%s is in the mail, want %v: %s", lead.Reference(id), want, late)
		}
	}

	apptest.Mailed(t, server, "maria@lumen.test", 2)
	apptest.Eventually(t, "no mail to an owner is pending", func() bool {
		return apptest.Counter(t, s, "siteapi_delivery_tries_total",
			map[string]string{"target": "owner_mail", "outcome": "delivered"}) == 5
	})

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
		id := submitMailed(s, "one")

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
	dana := "dana@lumen.test"
	signIn(nil, "")
	signIn(map[string]any{"email": dana}, "")
	signIn(map[string]any{"email": dana, "email_verified": false}, "")
	assign(one, dana)
	apptest.Mailed(t, server, dana, 1)

	for i, verified := range []any{true, "true"} {
		signIn(map[string]any{"email": "Dana@Lumen.test", "email_verified": verified}, dana)
		first, next := fmt.Sprintf("first-%d@lumen.test", i), fmt.Sprintf("next-%d@lumen.test", i)
		assign(one, first)
		apptest.Mailed(t, server, first, 1)
		assign(one, "DANA@lumen.test")
		assign(two, next)
		apptest.Mailed(t, server, next, 1)
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
