package mail

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/queue"
	"siteapi/resolvers/leadmail"
	"siteapi/schema"
)

// An operator gets a mail, without contact data, about leads that another operator
// assigned. One mail covers several leads. Leads that are erased or reassigned before it
// is sent are left out, and a mail without leads is not sent.
func TestOwnerMail(t *testing.T) {
	t.Parallel()
	const maria, paul, late, over = "maria@lumen.test", "paul@lumen.test", "late@lumen.test", "over@lumen.test"
	const self, gone = "someone@lumen.test", "gone@lumen.test" // the assigning operator, and the owner of an erased lead
	s := start(t, "VISITOR_MAIL=off", "ADMIN_TOKENS="+apptest.Owners(maria, self, paul, late, gone))
	one, two, three := s.submit("one"), s.submit("two"), s.submit("three")

	assign := func(owner string, ids ...string) { t.Helper(); s.assign(owner, ids...) }
	assign("Maria@lumen.test", one)
	sent := s.receives(maria, 1)
	if !strings.Contains(sent.text(), "https://lumen.test/admin#leads?search="+lead.Reference(one)) ||
		!strings.Contains(sent.subject, lead.Reference(one)) {
		t.Errorf("%v %s", sent.Header, sent.text())
	}
	delete(sent.parts, "image/png") // the logo, in base64
	for name, text := range sent.parts {
		for _, personal := range []string{one, "Ana", "Pop", address("one")} {
			if strings.Contains(text, personal) {
				t.Errorf("%s contains %q: %s", name, personal, text)
			}
		}
	}

	assign(maria, one) // no change, so no mail
	assign(self, two)
	assign(paul, one, two, three, "nosuch12")
	all := s.receives(paul, 1)

	// While the mail server rejects mails, one lead is erased and one is reassigned.
	s.server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
	assign(late, one, two, three)
	assign(maria, two)
	assign(gone, one) // the only lead of that mail
	s.Prints("leads erase --yes --email " + address("one") + " --server " + s.Base)
	s.server.Heal()
	remaining := s.receives(late, 1)
	for id, want := range map[string]bool{one: false, two: false, three: true} {
		reference := lead.Reference(id)
		if !strings.Contains(all.text(), reference) || strings.Contains(remaining.subject+remaining.text(), reference) != want {
			t.Errorf("%s, want it in both: %v: %s\n%s", reference, want, all.text(), remaining.text())
		}
	}

	s.receives(maria, 2)
	for outcome, want := range map[string]float64{"delivered": 4, "not_sent": 1} {
		apptest.Eventually(t, fmt.Sprintf("%v mails to owners are %s", want, outcome), func() bool {
			return apptest.Counter(t, s.Service, "siteapi_delivery_tries_total",
				map[string]string{"target": "owner_mail", "outcome": outcome}) == want
		})
	}

	// The job of the mail is stored with the assignment, so nothing that happens to the request
	// or the service afterward prevents it.
	mails := &leadmail.Service{
		Store:    s.App.Data.Store,
		Settings: leadmail.Settings{Sender: mailfile.Open(t.TempDir())},
	}
	notify, err := mails.NotifyOwner(t.Context(), over)
	must(t, err)
	_, err = s.App.Data.Store.Assign(t.Context(), []string{three}, over, notify)
	must(t, err)
	s.receives(over, 1)

	// A mail that is not sent is not delivered either.
	for reason, settings := range map[lead.NoMailReason]leadmail.Settings{
		lead.TestAddress:  {Sender: mailfile.Open(t.TempDir()), RefuseTests: true},
		lead.NoMailServer: {},
	} {
		mails := &leadmail.Service{Settings: settings, Store: s.App.Data.Store}
		err := mails.SendOwnerMail(t.Context(), queue.OwnerMail{Leads: []string{three}, Owner: notify})
		if unsent, ok := errors.AsType[*queue.UnsentError](err); !ok || unsent.Code != reason {
			t.Errorf("the mail ends with %v, want %s", err, reason)
		}
	}

	if n := len(s.mails(self)) + len(s.mails(gone)); n != 0 {
		t.Errorf("the assigning operator, or the owner of an erased lead, has %d mails", n)
	}
}

// assign assigns leads as someone@lumen.test.
func (m mailing) assign(owner string, ids ...string) {
	m.T.Helper()
	mutation := fmt.Sprintf(`mutation { assignLeads(leads: %q, owner: %q) { changed } }`, ids, owner)
	if _, code := m.OperateAs(schema.RoleSales, mutation); code != "" {
		m.T.Fatal(mutation, code)
	}
}

// A waiting mail to an owner is sent with the settings of the next start, even if its
// mail server and tokens changed.
func TestOwnerMailWithOtherSettings(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		const maria = "maria@lumen.test"
		s := start(t, "VISITOR_MAIL=off", "DATABASE_URL="+database, "CACHE_API_TOKEN=former",
			"ADMIN_TOKENS="+apptest.Owners(maria))
		id := s.submit("one")
		s.server.Fail(smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Later})
		s.assign(maria, id)

		next, env := apptest.MailServer(t, smtptest.Options{}, "CACHE_API_TOKEN=next,former")
		s.Restart(env...)
		apptest.Mailed(t, next, maria, 1)
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
		code, _ := b.Runs("/admin/graphql", `mutation { row: assignLeads(leads: ["`+id+`"], owner: "`+owner+`") { value: changed } }`)
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
