package mail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/schema"
)

// contents returns the decoded parts of a mail by media type.
func contents(t *testing.T, m *mail.Message) map[string]string {
	t.Helper()
	found := map[string]string{}
	decode(t, m.Header.Get("Content-Type"), m.Body, found)
	return found
}

func decode(t *testing.T, kind string, body io.Reader, into map[string]string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	must(t, err)
	if !strings.HasPrefix(media, "multipart/") {
		text, _ := io.ReadAll(body)
		into[media] = string(text)
		return
	}
	for reader := multipart.NewReader(body, params["boundary"]); ; {
		part, err := reader.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return
		}
		must(t, err)
		decode(t, part.Header.Get("Content-Type"), part, into)
	}
}

func address(session string) string { return session + "@client.test" }

// submitFrom submits a lead with a mail address, and returns its id.
func submitFrom(s *apptest.Service, session, email string, headers ...string) string {
	s.T.Helper()
	input := apptest.NewLead(session, `"contact": {"lastName": "Pop", "phone": "+40 (721) 000-000"}`)
	input["contact"].(object)["email"] = email
	return s.MustSubmit("REST", input, headers...)
}

// submitMailed submits a lead with its own mail address, and returns its id.
func submitMailed(s *apptest.Service, session string, headers ...string) string {
	s.T.Helper()
	return submitFrom(s, session, address(session), headers...)
}

// A lead's mails list its choices, in the visitor's language and in SALES_LOCALE. Times
// are in TIME_ZONE, as in the output of commands. The attached PDF is the one at the
// lead's link. Neither a header nor the text contains the lead's id. Replies to the
// visitor's mail go to the company, and replies to the sales mail go to the visitor.
func TestLeadIsMailed(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "SALES_LOCALE=es", "TIME_ZONE=Pacific/Kiritimati")
	s := apptest.Start(t, env...)
	id := submitMailed(s, "ana")
	apptest.Eventually(t, "both mails arrive", func() bool { return len(server.Mails()) == 2 })
	submitted := s.ShowLead(id).SubmittedAt.In(time.FixedZone("+14", 14*60*60))
	s.Prints("leads list", submitted.Format(time.DateTime))

	pdf := s.Do("GET", "/api/quote/pdf?id="+id, "").Body
	visitor, sales := apptest.MailsTo(server, address("ana")), apptest.MailsTo(server, "sales@lumen.test")
	for name, want := range map[string]struct {
		mail    *mail.Message
		replyTo string
		texts   []string
	}{
		"visitor": {visitor[0], "<hello@lumen-studio.example>", []string{
			"Bună ziua, Ana,", fmt.Sprintf("\nData: %d ", submitted.Day()),
		}},
		"sales": {sales[0], "<" + address("ana") + ">", []string{
			"/admin#leads?search=" + strings.ToUpper(id[:8]), "\nTipo de proyecto: ",
			submitted.Format(" de 2006, 15:04 -07"), `href="tel:&#43;40721000000"`,
		}},
	} {
		found := contents(t, want.mail)
		if got := want.mail.Header.Get("Reply-To"); got != want.replyTo {
			t.Errorf("%s: replies go to %s", name, got)
		}
		for _, text := range want.texts {
			if !strings.Contains(found["text/plain"]+found["text/html"], text) {
				t.Errorf("%s: %q is missing in %s", name, text, found["text/plain"])
			}
		}
		if id := want.mail.Header.Get("Message-ID"); !strings.HasSuffix(id, "@lumen.test>") || len(id) != 45 {
			t.Errorf("%s: the Message-ID is %s", name, id)
		}
		created := s.Deliveries(id)[lead.VisitorMail].CreatedAt
		if at, err := want.mail.Header.Date(); err != nil || at.Sub(created).Abs() > time.Minute {
			t.Errorf("%s: dated %v, created %v, %v", name, at, created, err)
		}
		links := map[string]int{"visitor": 1}[name] // the link to the quote's page
		if strings.Contains(fmt.Sprint(want.mail.Header), id) || strings.Count(found["text/plain"], id) != links ||
			strings.Count(found["text/plain"], "/api/quote/page?id="+id) != links {
			t.Errorf("%s: the mail has the lead's id: %v %s", name, want.mail.Header, found["text/plain"])
		}
		if name == "visitor" && len(found["application/pdf"])*3/4 < len(pdf)-100 {
			t.Errorf("the PDF is missing")
		}
	}
	if visitor[0].Header.Get("Message-ID") == sales[0].Header.Get("Message-ID") {
		t.Error("both mails have the same Message-ID")
	}
}

// repeated returns the state of a delivery. As an operator would, it repeats a mail that
// waits because it was not confirmed.
func repeated(t *testing.T, s *apptest.Service, id string, target lead.Target) lead.DeliveryState {
	t.Helper()
	d := s.Deliveries(id)[target]
	if d.State != lead.Running && d.Paused == lead.ErrUnconfirmed.Error() && !d.NextAt.IsZero() {
		if wait := time.Until(d.NextAt); wait < 50*time.Minute || wait > 6*time.Hour {
			t.Errorf("an unconfirmed mail waits for %v", wait)
		}
		must(t, s.App.Data.Store.RetryDelivery(t.Context(), d.ID))
	}
	return d.State
}

// countMails returns the number of mails to an address, and of their ids.
func countMails(server *smtptest.Server, address string) (mails, ids int) {
	known := map[string]bool{}
	for _, m := range apptest.MailsTo(server, address) {
		mails++
		known[m.Header.Get("Message-ID")] = true
	}
	return mails, len(known)
}

// Every mail arrives, whatever fault the server has. Only a lost reply causes a
// duplicate, which has the same id.
func TestMailsArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{})
	s := apptest.Start(t, env...)
	faults := []smtptest.Fault{
		{Step: smtptest.Greeting, Mode: smtptest.Reset},
		{Step: smtptest.Sender, Mode: smtptest.Never},
		{Step: smtptest.Recipient, Mode: smtptest.Later},
		{Step: smtptest.Taken, Mode: smtptest.Reset},
	}
	for i, f := range faults {
		name := fmt.Sprintf("fault-%d", i)
		f.Times = 1
		server.Fail(f)
		id := submitMailed(s, name)
		apptest.Eventually(t, fmt.Sprintf("the mails arrive despite the fault %s %s", f.Step, f.Mode), func() bool {
			visitor, sales := repeated(t, s, id, lead.VisitorMail), repeated(t, s, id, lead.SalesMail)
			return visitor == lead.Delivered && sales == lead.Delivered
		})

		copies, ids := countMails(server, address(name))
		if copies != 1 && (copies != 2 || f.Step != smtptest.Taken) || ids != 1 {
			t.Errorf("%s %s: %d mails with %d ids", f.Step, f.Mode, copies, ids)
		}
	}
	if n := len(apptest.MailsTo(server, "sales@lumen.test")); n < len(faults) || n > len(faults)+1 {
		t.Errorf("sales got %d mails about %d leads", n, len(faults))
	}
}

// A mailbox gets at most three mails a day, however its address is spelled, and whatever
// becomes of the settings meanwhile. Gmail ignores dots in a name and everything after a
// plus sign, and has two domains; other providers distinguish dots. Later leads are still
// delivered to the other targets.
func TestMailsToOneMailbox(t *testing.T) {
	t.Parallel()
	_, env := apptest.MailServer(t, smtptest.Options{})
	s := apptest.Start(t, env...)
	for i, tt := range []struct {
		email string
		want  lead.DeliveryState
	}{
		{"ana@client.test", lead.Delivered},
		{"Ana@ｃｌｉｅｎｔ.test\u200b", lead.Delivered},
		{`"a\na+1"@client.test`, lead.Delivered},
		{"ana+2@client.test", lead.NotSent},
		{"ana@client.test。", lead.NotSent},
		{"anapop@gmail.com", lead.Delivered},
		{"ana.pop@gmail.com", lead.Delivered},
		{"A.n.a.P.o.p@GMail.com", lead.Delivered},
		{"anapop+site@gmail.com", lead.NotSent},
		{"ana.pop+a.b@googlemail.com", lead.NotSent},
		{"anapop@googlemail.com", lead.NotSent},
		{"\"ana.pop\"@gmail.com", lead.NotSent},
		{"anapop2@gmail.com", lead.Delivered},       // another mailbox
		{"anapop@mail.gmail.com", lead.Delivered},   // another domain
		{"anapop@notgmail.com", lead.Delivered},     // another domain that ends like it
		{"ana.pop@client.test", lead.Delivered},     // elsewhere dots count:
		{"anapop@client.test", lead.Delivered},      // five mails
		{"a.napop@client.test", lead.Delivered},     // to five
		{"an.apop@client.test", lead.Delivered},     // mailboxes
		{"ana.pop+1@client.test", lead.Delivered},   // the second one to this mailbox
		{"ana.pop+1.2@client.test", lead.Delivered}, // the third one
		{"ana.pop+3@client.test", lead.NotSent},
	} {
		if i == 3 {
			s.Restart("CACHE_API_TOKEN=rotated")
		}
		id := submitFrom(s, fmt.Sprintf("visit-%d", i), tt.email)
		s.Reaches(id, lead.VisitorMail, tt.want)
		s.Reaches(id, lead.SalesMail, lead.Delivered)
	}
}

// Each recipient of SALES_MAIL_TO gets one mail, whatever happens to the others' mails.
// The delivery fails only if all recipients are rejected.
func TestSalesMailToSeveral(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{},
		"SALES_MAIL_TO=one@lumen.test, Two <two@lumen.test>", "VISITOR_MAIL=off")
	s := apptest.Start(t, env...)
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
		{"one-silent-once", []smtptest.Fault{{Step: smtptest.Taken, Mode: smtptest.Reset, To: "two@lumen.test", Times: 1}},
			lead.Delivered, 1, 2},
		{"one-silent", []smtptest.Fault{{Step: smtptest.Taken, Mode: smtptest.Reset, To: "two@lumen.test"}},
			lead.Unconfirmed, 1, 3},
		{"silent", []smtptest.Fault{{Step: smtptest.Taken, Mode: smtptest.Reset}}, lead.Unconfirmed, 3, 3},
		{"silent-and-later", []smtptest.Fault{
			{Step: smtptest.Taken, Mode: smtptest.Reset, To: "two@lumen.test"},
			{Step: smtptest.Recipient, Mode: smtptest.Later, To: "one@lumen.test", Times: 2},
		}, lead.Unconfirmed, 1, 3},
		{"silent-and-refused", []smtptest.Fault{
			{Step: smtptest.Taken, Mode: smtptest.Reset, To: "two@lumen.test"},
			{Step: smtptest.Recipient, Mode: smtptest.Never, To: "one@lumen.test"},
		}, lead.Unconfirmed, 0, 3},
	} {
		server.Heal()
		server.Forget()
		server.Fail(c.faults...)
		id := submitMailed(s, c.name)
		apptest.Eventually(t, c.name+" is "+string(c.state), func() bool {
			return repeated(t, s, id, lead.SalesMail) == c.state
		})
		one, two := len(apptest.MailsTo(server, "one@lumen.test")), len(apptest.MailsTo(server, "two@lumen.test"))
		if one != c.one || two != c.two {
			t.Errorf("%s: %d and %d mails, want %d and %d", c.name, one, two, c.one, c.two)
		}
		if d := s.Deliveries(id)[lead.VisitorMail]; d.State != lead.NotSent || d.Reason != "VISITOR_MAIL_OFF" {
			t.Errorf("%s: the disabled mail to the visitor: %+v", c.name, d)
		}
	}
}

// No mail is sent about a lead in review. The visitor of a lead submitted while
// VISITOR_MAIL was off gets no mail, even after `verify --fix`. Both mails are sent about
// a released lead.
func TestWhichLeadsAreMailed(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "VISITOR_MAIL=off")
	s := apptest.Start(t, env...)
	before := submitMailed(s, "before")
	s.Reaches(before, lead.SalesMail, lead.Delivered)
	server.Forget()
	s.Restart("VISITOR_MAIL=on")

	suspect := s.Submit("suspect", `"website": "https://spam.example", "contact": {"email": "suspect@client.test"}`)
	if out, err := s.Command("deliveries", "verify", "--fix"); err != nil && !strings.Contains(out, "missing") {
		t.Errorf("%v: %s", err, out)
	}
	for id, want := range map[string]string{before: "VISITOR_MAIL_OFF", suspect: "IN_REVIEW"} {
		if got := fmt.Sprint(leadAsOperator(s, id, "noMailReason")); !strings.Contains(got, want) {
			t.Errorf("the reason is %s, want %q", got, want)
		}
	}
	if len(server.Mails()) > 0 {
		t.Errorf("%d mails were sent", len(server.Mails()))
	}
	s.Prints("leads release " + suspect)
	apptest.Eventually(t, "both mails about the released lead arrive", func() bool { return len(server.Mails()) == 2 })
}

// In development mails are written to files, which an erasure deletes.
func TestMailsInDevelopment(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, apptest.Quick)
	id := submitMailed(s, "ana")
	folder := filepath.Join(s.DataDir, "mail")
	mails := func() []string {
		list, _ := filepath.Glob(filepath.Join(folder, id+"-*.eml"))
		return list
	}
	apptest.Eventually(t, "both mails are written", func() bool { return len(mails()) == 2 })

	// A preview does not replace the fallback copy of the content.
	origin := func() string {
		var head struct{ Origin string } // the first line
		value, _ := os.ReadFile(filepath.Join(s.DataDir, "content", "content-locale-es.json"))
		_ = json.NewDecoder(bytes.NewReader(value)).Decode(&head)
		return head.Origin
	}
	apptest.Eventually(t, "there is a fallback copy", func() bool { return origin() != "" })
	before := origin()
	s.Prints("mail preview --locale es --lead "+id[:8], "Content-Language: es")
	if after := origin(); after != before {
		t.Errorf("the preview replaced the fallback copy: its origin is %s, want %s", after, before)
	}

	s.Prints("mail test --to me@client.test", folder)
	erase(s, address("ana"))
	if remaining := mails(); len(remaining) > 0 {
		t.Errorf("after the erasure these files remain: %v", remaining)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want the test mail", entries, err)
	}
}

// erase erases a person.
func erase(s *apptest.Service, email string, texts ...string) {
	s.T.Helper()
	s.Prints("leads erase --yes --server "+s.Base+" --email "+email, texts...)
}

// leadAsOperator returns the given fields of a lead, queried by an operator.
func leadAsOperator(s *apptest.Service, id, fields string) object {
	s.T.Helper()
	var found struct{ Data struct{ Lead object } }
	response := s.Response(schema.RoleAdmin, `{ lead(id: "`+id+`") { `+fields+` } }`)
	if err := json.Unmarshal(response, &found); err != nil || found.Data.Lead == nil {
		s.T.Fatalf("reading a lead: %v %s", err, response)
	}
	return found.Data.Lead
}

// The joiners of a script or an emoji reach sales, the CMS, the CRM and the export.
func TestJoinersTravel(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{})
	vendors := apptest.NewVendors(t)
	s := apptest.Start(t, vendors.Env(env...)...)
	const name, message = "علی\u200cرضا", "👩\u200d👧 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f ශ්\u200dරී"
	input := apptest.NewLead("joiners")
	input["message"], input["contact"].(object)["firstName"] = message, name
	id := s.SubmitThrough("REST", input).ID()

	sales := apptest.Mailed(t, server, "sales@lumen.test", 1)
	texts := contents(t, sales)
	delete(texts, "image/png")
	subject, err := new(mime.WordDecoder).DecodeHeader(sales.Header.Get("Subject"))
	must(t, err)
	texts["subject"], texts["export"] = subject+message, s.Prints("leads export").Out
	apptest.Eventually(t, "the lead is stored", func() bool {
		texts["CMS"] = fmt.Sprint(vendors.Documents("joiners"))
		texts["CRM"] = fmt.Sprint(vendors.Contacts("joiners@example.com"))
		return strings.Contains(texts["CMS"], id) && strings.Contains(texts["CRM"], id)
	})
	for where, text := range texts {
		if !strings.Contains(text, name) || !strings.Contains(text, message) {
			t.Errorf("%s has other texts: %+q", where, text)
		}
	}
}
