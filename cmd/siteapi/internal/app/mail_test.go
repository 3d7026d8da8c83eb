package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
)

// mailServer starts a mail server, and returns the settings with which a service uses it.
func mailServer(t *testing.T, o smtptest.Options) (*smtptest.Server, map[string]string) {
	t.Helper()
	server, err := smtptest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server, map[string]string{
		"SMTP_URL":      "smtp://" + server.Addr,
		"MAIL_FROM":     "quotes@lumen.test",
		"SALES_MAIL_TO": "sales@lumen.test",
		"SITE_URL":      "https://lumen.test",
		"ADMIN_PAGE":    "on",
	}
}

// mailsTo returns the mails that a server took for an address.
func mailsTo(server *smtptest.Server, address string) []*mail.Message {
	var found []*mail.Message
	for _, m := range server.Mails() {
		if m.To == address {
			parsed, err := mail.ReadMessage(bytes.NewReader(m.Data))
			if err != nil {
				panic(err) // which no test expects
			}
			found = append(found, parsed)
		}
	}
	return found
}

// parts returns the decoded parts of a mail by their types.
func parts(t *testing.T, kind string, body io.Reader, into map[string]string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(media, "multipart/") {
		text, _ := io.ReadAll(body)
		into[media] = string(text)
		return
	}
	for reader := multipart.NewReader(body, params["boundary"]); ; {
		part, err := reader.NextPart() // which decodes quoted-printable
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		parts(t, part.Header.Get("Content-Type"), part, into)
	}
}

func address(session string) string { return session + "@client.test" }

// submitMailed submits a lead whose mail goes to an address of its own.
func (s *service) submitMailed(t *testing.T, session string, headers ...string) string {
	t.Helper()
	input := newLead(session)
	input["contact"] = object{"firstName": "Ana", "lastName": "Pop", "email": address(session)}
	got := s.through("REST", "submitQuote", object{"input": input}, headers...)
	id, _ := got.data["submissionId"].(string)
	if id == "" {
		t.Fatalf("submitting: %d %s", got.status, got.raw)
	}
	return id
}

// leadAsOperator returns fields of a lead as an operator reads them.
func (s *service) leadAsOperator(id, fields string) object {
	s.t.Helper()
	document := `query($id: ID!) { lead(id: $id) { ` + fields + ` } }`
	answer := s.query(document, object{"id": id}, "Authorization: Bearer dev-admin-token")
	var found struct{ Data struct{ Lead object } }
	if err := json.Unmarshal(answer.body, &found); err != nil || found.Data.Lead == nil {
		s.t.Fatalf("reading a lead: %v %s", err, answer.body)
	}
	return found.Data.Lead
}

// A lead's mails say what was chosen, in the visitor's language, with the PDF as its link
// gives it. Neither header names the lead's id, and replies go to the company and to the
// visitor.
func TestLeadIsMailed(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	s := startService(t, env, quick)
	id := s.submitMailed(t, "ana")
	eventually(t, "both mails arrive", func() bool { return len(server.Mails()) == 2 })

	pdf := s.do(http.MethodGet, "/api/quote/pdf?id="+id, "").body
	visitor, sales := mailsTo(server, address("ana")), mailsTo(server, "sales@lumen.test")
	for name, want := range map[string]struct {
		mail    *mail.Message
		replyTo string
		text    string
	}{
		"visitor": {visitor[0], "<hello@lumen-studio.example>", "Bună ziua, Ana,"},
		"sales":   {sales[0], "<" + address("ana") + ">", "/admin#leads?search=" + strings.ToUpper(id[:8])},
	} {
		found := map[string]string{}
		parts(t, want.mail.Header.Get("Content-Type"), want.mail.Body, found)
		if got := want.mail.Header.Get("Reply-To"); got != want.replyTo {
			t.Errorf("%s: replies go to %s", name, got)
		}
		if !strings.Contains(found["text/plain"], want.text) || !strings.Contains(found["text/html"], "<table") {
			t.Errorf("%s: %q is missing in %s", name, want.text, found["text/plain"])
		}
		if id := want.mail.Header.Get("Message-ID"); !strings.HasSuffix(id, "@lumen.test>") || len(id) != 45 {
			t.Errorf("%s: the id is %s", name, id)
		}
		created := s.deliveries(id)[lead.VisitorMail].CreatedAt
		if at, err := want.mail.Header.Date(); err != nil || at.Sub(created).Abs() > time.Minute {
			t.Errorf("%s: dated %v, created %v, %v", name, at, created, err)
		}
		if strings.Contains(fmt.Sprint(want.mail.Header), id) || strings.Contains(found["text/plain"], id) {
			t.Errorf("%s: the mail tells the lead's id", name)
		}
		if name == "visitor" && len(found["application/pdf"])*3/4 < len(pdf)-100 {
			t.Errorf("the PDF is missing")
		}
	}
	if visitor[0].Header.Get("Message-ID") == sales[0].Header.Get("Message-ID") {
		t.Error("both mails have one id")
	}
}

// Every lead's mails arrive, whatever the server does, and only a lost answer repeats one,
// with the same id.
func TestMailsArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	s := startService(t, env, quick)
	faults := []smtptest.Fault{
		{Step: smtptest.Greeting, Mode: smtptest.Later},
		{Step: smtptest.Greeting, Mode: smtptest.Reset},
		{Step: smtptest.Hello, Mode: smtptest.Reset},
		{Step: smtptest.Sender, Mode: smtptest.Later},
		{Step: smtptest.Sender, Mode: smtptest.Never},
		{Step: smtptest.Recipient, Mode: smtptest.Later},
		{Step: smtptest.Recipient, Mode: smtptest.Reset},
		{Step: smtptest.Data, Mode: smtptest.Later},
		{Step: smtptest.Data, Mode: smtptest.Reset},
		{Step: smtptest.Taken, Mode: smtptest.Reset},
		{Step: smtptest.Taken, Mode: smtptest.Slow},
	}
	for i, f := range faults {
		name := fmt.Sprintf("fault-%d", i)
		f.Times = 1
		server.Fail(f)
		id := s.submitMailed(t, name)
		eventually(t, fmt.Sprintf("the mails of %s %s arrive", f.Step, f.Mode), func() bool {
			d := s.deliveries(id)
			return d[lead.VisitorMail].State == lead.Delivered && d[lead.SalesMail].State == lead.Delivered
		})

		got, ids := mailsTo(server, address(name)), map[string]bool{}
		for _, m := range got {
			ids[m.Header.Get("Message-ID")] = true
		}
		most := 1
		if f.Step == smtptest.Taken && f.Mode == smtptest.Reset {
			most = 2
		}
		if len(got) < 1 || len(got) > most || len(ids) != 1 {
			t.Errorf("%s %s: %d mails with the ids %v", f.Step, f.Mode, len(got), ids)
		}
	}
	if n := len(mailsTo(server, "sales@lumen.test")); n < len(faults) || n > len(faults)+1 {
		t.Errorf("sales got %d mails about %d leads", n, len(faults))
	}
}

// What becomes of the visitor's mail decides nothing about the lead, which says why there
// is none. An operator's resend has another id.
func TestVisitorMailIsNotSent(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	s := startService(t, env, quick)
	server.Fail(smtptest.Fault{
		Step:  smtptest.Recipient,
		Mode:  smtptest.Never,
		To:    address("gone"),
		Text:  "no mailbox for " + address("gone"),
		Times: 1,
	})
	id := s.submitMailed(t, "gone")
	eventually(t, "it is not sent", func() bool { return s.deliveries(id)[lead.VisitorMail].State == lead.NotSent })
	eventually(t, "the rest arrives", func() bool { return s.deliveries(id)[lead.SalesMail].State == lead.Delivered })

	shown := s.leadAsOperator(id, "state noMailReason deliveries { target state reason }")
	if reason, _ := shown["noMailReason"].(string); shown["state"] != "DELIVERED" ||
		!strings.Contains(reason, "no mailbox for [") || strings.Contains(reason, "client.test") {
		t.Errorf("the lead is %v", shown)
	}

	if out, err := s.siteapi("deliveries", "resend", id, "--target", "visitor-mail"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "it arrives on demand", func() bool { return len(mailsTo(server, address("gone"))) == 1 })
	eventually(t, "it is noted", func() bool { return s.deliveries(id)[lead.VisitorMail].State == lead.Delivered })
	first := mailsTo(server, address("gone"))[0].Header.Get("Message-ID")
	if out, err := s.siteapi("deliveries", "resend", id, "--target", "visitor-mail"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "it is sent again", func() bool { return len(mailsTo(server, address("gone"))) == 2 })
	if again := mailsTo(server, address("gone"))[1].Header.Get("Message-ID"); again == first {
		t.Errorf("the operator's mail has the id of the first, %s", again)
	}
}

// An address gets three mails a day in any spelling, and the leads after them are
// delivered all the same.
func TestMailsToOneAddress(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	s := startService(t, env, quick)
	spellings := []string{
		"ana@client.test", "Ana@ｃｌｉｅｎｔ.test\u200b", `"a\na+1"@client.test`, "ana+2@client.test", "ana@client.test。",
	}
	for i, email := range spellings {
		input := newLead(fmt.Sprintf("visit-%d", i))
		input["contact"] = object{"firstName": "Ana", "lastName": "Pop", "email": email}
		got := s.through("GraphQL", "submitQuote", object{"input": input})
		id, _ := got.data["submissionId"].(string)
		if id == "" {
			t.Fatalf("%q is refused: %s", email, got.raw)
		}
		want := lead.Delivered
		if i >= 3 {
			want = lead.NotSent
		}
		eventually(t, fmt.Sprint("mail ", i, " is ", want), func() bool {
			d := s.deliveries(id)
			return d[lead.VisitorMail].State == want && d[lead.SalesMail].State == lead.Delivered
		})
	}
	if n := len(server.Mails()); n != 3+len(spellings) {
		t.Errorf("the server took %d mails, want 3 to the visitor and %d to sales", n, len(spellings))
	}
}

// Several recipients of sales each get a mail of their own, and once, whatever happens to
// the others'. The delivery fails only if all are refused.
func TestSalesMailToSeveral(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	env["SALES_MAIL_TO"], env["VISITOR_MAIL"] = "one@lumen.test, Two <two@lumen.test>", "off"
	s := startService(t, env, quick)
	for _, c := range []struct {
		name     string
		faults   []smtptest.Fault
		state    lead.DeliveryState
		one, two int
	}{
		{"both", nil, lead.Delivered, 1, 1},
		{"later", []smtptest.Fault{{Step: smtptest.Recipient, Mode: smtptest.Later, To: "two@lumen.test", Times: 2}},
			lead.Delivered, 1, 1},
		{"one-refused", []smtptest.Fault{{Step: smtptest.Recipient, Mode: smtptest.Never, To: "two@lumen.test"}},
			lead.Delivered, 1, 0},
		{"refused", []smtptest.Fault{{Step: smtptest.Recipient, Mode: smtptest.Never}}, lead.Failed, 0, 0},
	} {
		server.Heal()
		server.Forget()
		server.Fail(c.faults...)
		id := s.submitMailed(t, c.name)
		eventually(t, c.name+" is "+string(c.state), func() bool {
			return s.deliveries(id)[lead.SalesMail].State == c.state
		})
		one, two := len(mailsTo(server, "one@lumen.test")), len(mailsTo(server, "two@lumen.test"))
		if one != c.one || two != c.two {
			t.Errorf("%s: %d and %d mails, want %d and %d", c.name, one, two, c.one, c.two)
		}
		if d := s.deliveries(id)[lead.VisitorMail]; d.State != lead.NotSent || d.Reason != "VISITOR_MAIL was off" {
			t.Errorf("%s: the mail to the visitor, which is off: %+v", c.name, d)
		}
	}
}

// Leads in review and leads from before the mail server get no mail, and `verify --fix`
// sends none. A released one gets both.
func TestWhichLeadsAreMailed(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{})
	env["VISITOR_MAIL"] = "off"
	s := startService(t, env, quick)
	before := s.submitMailed(t, "before")
	eventually(t, "it is delivered", func() bool { return s.deliveries(before)[lead.SalesMail].State == lead.Delivered })
	s.stop()
	server.Forget()
	delete(s.env, "VISITOR_MAIL")
	s.start()

	input := newLead("suspect")
	input["website"], input["contact"] = "https://spam.example",
		object{"firstName": "Ana", "lastName": "Pop", "email": address("suspect")}
	suspect := s.through("REST", "submitQuote", object{"input": input}).data["submissionId"].(string)
	if out, err := s.siteapi("deliveries", "verify", "--fix"); err != nil && !strings.Contains(out, "missing") {
		t.Errorf("%v: %s", err, out)
	}
	for id, want := range map[string]string{before: "VISITOR_MAIL was off", suspect: "in review"} {
		if got := fmt.Sprint(s.leadAsOperator(id, "noMailReason")); !strings.Contains(got, want) {
			t.Errorf("the reason is %s, want %q", got, want)
		}
	}
	if len(server.Mails()) > 0 {
		t.Errorf("%d mails were sent", len(server.Mails()))
	}
	if out, err := s.siteapi("leads", "release", suspect); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, "the released lead gets its mails", func() bool { return len(server.Mails()) == 2 })
}

// In development mails are files, which an erasure removes.
func TestMailsOfDevelopment(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	id := s.submitMailed(t, "ana")
	folder := filepath.Join(s.dataDir, "mail")
	mails := func() []string {
		list, _ := filepath.Glob(filepath.Join(folder, id+"-*.eml"))
		return list
	}
	eventually(t, "both mails are written", func() bool { return len(mails()) == 2 })

	// A preview leaves a copy of the content that the service can use when the CMS fails.
	origin := func() string {
		value, err := os.ReadFile(filepath.Join(s.dataDir, "content", "content-locale-es.snapshot"))
		if words := strings.Fields(string(value)); err == nil && len(words) > 1 {
			return words[1]
		}
		return ""
	}
	eventually(t, "there is a copy of the content", func() bool { return origin() != "" })
	before := origin()
	if out, err := s.siteapi("mail", "preview", "--lead", id[:8], "--locale", "es"); err != nil ||
		!strings.Contains(out, "Content-Language: es") {
		t.Errorf("the preview is %.300s, %v", out, err)
	}
	if after := origin(); after != before {
		t.Errorf("the preview replaced the copy of the content by one of the origin %s, want %s", after, before)
	}

	if out, err := s.siteapi("mail", "test", "--to", "me@client.test"); err != nil || !strings.Contains(out, folder) {
		t.Errorf("the test says %s, %v", out, err)
	}
	if out, err := s.siteapi("leads", "erase", "--email", address("ana"), "--yes", "--server", s.base); err != nil {
		t.Errorf("erasing: %v: %s", err, out)
	}
	if left := mails(); len(left) > 0 {
		t.Errorf("after the erasure there are %v", left)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want the test mail", entries, err)
	}
}

// The doctor logs in and has the sender accepted, and sends nothing. `mail test` sends one.
// Both run the binary over TLS, as in production, where a test address gets no mail.
func TestMailInProduction(t *testing.T) {
	t.Parallel()
	server, env := mailServer(t, smtptest.Options{Implicit: true, Login: true})
	certificate := filepath.Join(t.TempDir(), "mail.pem")
	if err := os.WriteFile(certificate, server.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(server.Addr, ":")
	delete(env, "ADMIN_PAGE")
	maps.Copy(env, map[string]string{
		"SMTP_URL":      "smtps://siteapi:s3cret%2Fpass%3Aword@localhost:" + port,
		"SSL_CERT_FILE": certificate,
	})
	dir := t.TempDir()
	var settings []string
	for name, value := range env {
		settings = append(settings, name+"="+value)
	}
	r := launch(t, dir, slices.Concat(settings, defaultLimits(t))...)
	body := newLead("visit")
	status, answer := r.post("/api/quote/submit", body) // of an address in example.com
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	eventually(t, "sales are told", func() bool { return len(mailsTo(server, "sales@lumen.test")) == 1 })

	all := slices.Concat(settings, defaultLimits(t), []string{"DATA_DIR=" + dir})
	eventually(t, "the visitor's mail is not sent", func() bool {
		out, _ := command(t, all, "deliveries", "list", "--state", "not-sent")
		return strings.Contains(out, "RFC 2606")
	})
	server.Forget()
	if out, _ := command(t, all, "doctor"); !strings.Contains(out, "logged in") || strings.Contains(out, "s3cret") ||
		len(server.Mails()) > 0 {
		t.Errorf("the doctor says %s", out)
	}
	if out, code := command(t, all, "mail", "test", "--to", "me@client.test"); code != 0 ||
		len(mailsTo(server, "me@client.test")) != 1 {
		t.Errorf("mail test: %d %s", code, out)
	}
}
