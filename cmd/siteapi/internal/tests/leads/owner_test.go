package leads

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// Leads are assigned to operators only, through every door: an assistant reads what visitors
// wrote, and the owner of a lead gets mail.
func TestOwnersAreOperators(t *testing.T) {
	t.Parallel()
	p := apptest.NewProvider(t)
	p.Groups = "desk"
	address := apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(p.Env(address),
		"ADMIN_TOKENS=bo:sales:bo-0123456789abcdef,"+apptest.Owners("ana+sales@lumen.test"))...).Start()
	id, other := s.Submit("one"), s.Submit("other")
	s.Damage(`UPDATE leads SET owner = 'former@lumen.test' WHERE id = '` + other + `'`) // before the rule

	b := apptest.NewBrowser(t, address)
	signIn := func(subject, email string, verified bool) {
		t.Helper()
		p.Set(func() { p.Claims = map[string]any{"sub": subject, "email": email, "email_verified": verified} })
		if _, text := b.SignIn(); b.Cookie == nil {
			t.Fatal(text)
		}
	}
	signIn("1", "Ended@Lumen.test", true)
	b.Runs("/admin/graphql", `{ row: lead(lead: "`+id+`") { value: id } }`)
	s.Prints("logins end --all")
	signIn("2", "unverified@lumen.test", false)
	signIn("Subject@Lumen.test", "", false)
	signIn("3", "Dana@Lumen.test", true)

	for owner, want := range map[string]string{
		"ana+sales@lumen.test":         "",               // the name of a token
		"ANA+Sales@lumen.test":         "",               // in another letter case
		"dana@lumen.test":              "",               // is logged in
		"subject@lumen.test":           "",               // the subject of an account, which the provider vouches for
		"ended@lumen.test":             "",               // was logged in and has read a lead
		"former@lumen.test":            "",               // owns another lead
		"unverified@lumen.test":        "BAD_USER_INPUT", // anybody may claim it
		"one@example.com":              "BAD_USER_INPUT", // the visitor
		"name.6f1e@other.example":      "BAD_USER_INPUT", // what a message asked an assistant to set
		"ana+sales@lumen.test.example": "BAD_USER_INPUT",
		"ana@lumen.test":               "BAD_USER_INPUT", // another mailbox
		"lumen.test":                   "BAD_USER_INPUT", // no address
		"bo":                           "BAD_USER_INPUT", // a token whose name is no address
		"@":                            "BAD_USER_INPUT",
	} {
		for _, mutation := range []string{
			`row: assignLeads(leads: ["` + id + `"], owner: "` + owner + `") { value: leads { owner } }`,
			`row: assignLeads(leads: ["` + id + `"], owner: "` + owner + `") { value: changed }`,
		} {
			if code, got := b.Runs("/admin/graphql", `mutation { `+mutation+` }`); code != want {
				t.Errorf("%s: %q %v, want %q", mutation, code, got, want)
			}
		}
		if out, exit := s.Run("leads", "assign", id, owner); (exit == 0) != (want == "") {
			t.Errorf("leads assign %s: %d %s", owner, exit, out)
		}
	}

	reference := lead.Reference(id)
	s.Refuses(map[string]string{
		"leads assign " + reference + " x@other.example": "dana@lumen.test, ended@lumen.test, former@lumen.test",
		"leads assign " + reference + " y@other.example": "an owner must have signed in with an account",
	})
	s.Prints("leads assign " + reference + " none").Without("@")
}
