package mail

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
)

// A lead's mails list its choices, in the visitor's language and in SALES_LOCALE. Times
// are in TIME_ZONE, as in the output of commands. The attached PDF is the one at the
// lead's link. Neither a header nor the text contains the lead's id. Replies to the
// visitor's mail go to the company, and replies to the sales mail go to the visitor.
func TestLeadIsMailed(t *testing.T) {
	t.Parallel()
	s := start(t, "SALES_LOCALE=es", "TIME_ZONE=Pacific/Kiritimati")
	id := s.submit("ana")
	toVisitor, toSales := s.receives(address("ana"), 1), s.receives(sales, 1)
	submitted := s.ShowLead(id).SubmittedAt.In(time.FixedZone("+14", 14*60*60))
	s.Prints("leads list", submitted.Format(time.DateTime))

	for _, want := range []struct {
		letter
		replyTo string
		links   int // to the quote's page
		texts   []string
	}{
		{toVisitor, "<hello@lumen-studio.example>", 1, []string{
			"Bună ziua, Ana,", fmt.Sprintf("\nData: %d ", submitted.Day()),
		}},
		{toSales, "<" + address("ana") + ">", 0, []string{
			"/admin#leads?search=" + lead.Reference(id), "\nTipo de proyecto: ",
			submitted.Format(" de 2006, 15:04 -07"), `href="tel:&#43;40721000000"`,
		}},
	} {
		for _, text := range want.texts {
			if !strings.Contains(want.text()+want.parts["text/html"], text) {
				t.Errorf("%q is missing in %s", text, want.text())
			}
		}
		at, err := want.Date()
		messageID := want.Get("Message-ID")
		if want.Get("Reply-To") != want.replyTo || err != nil || at.Sub(submitted).Abs() > time.Minute ||
			!strings.HasSuffix(messageID, "@lumen.test>") || len(messageID) != 45 {
			t.Errorf("submitted at %v, mailed with %v", submitted, want.Header)
		}
		if strings.Contains(fmt.Sprint(want.Header), id) || strings.Count(want.text(), id) != want.links ||
			strings.Count(want.text(), "/api/quote/page?id="+id) != want.links {
			t.Errorf("the mail has the lead's id: %v %s", want.Header, want.text())
		}
	}

	pdf := s.Do("GET", "/api/quote/pdf?id="+id, "").Body
	if len(toVisitor.parts["application/pdf"])*3/4 < len(pdf)-100 {
		t.Errorf("the PDF is missing")
	}
	if toVisitor.Get("Message-ID") == toSales.Get("Message-ID") {
		t.Error("both mails have the same Message-ID")
	}
}

// repeated returns the state of a delivery. As an operator would, it repeats a mail that
// waits because it was not confirmed.
func (m mailing) repeated(id string, target lead.Target) lead.DeliveryState {
	m.T.Helper()
	d := m.Deliveries(id)[target]
	if d.State != lead.Running && d.Code == lead.MailUnconfirmed && !d.NextAt.IsZero() {
		if wait := time.Until(d.NextAt); wait < 50*time.Minute || wait > 6*time.Hour {
			m.T.Errorf("an unconfirmed mail waits for %v", wait)
		}
		must(m.T, m.App.Data.Store.RetryDelivery(m.T.Context(), d.ID))
	}
	return d.State
}

// lost is a mail that the server stores without confirming it.
func lost(to string, times int) smtptest.Fault {
	return smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Reset, To: to, Times: times}
}

// refused is a recipient that the server refuses, for good or until later.
func refused(to string, mode smtptest.Mode, times int) smtptest.Fault {
	return smtptest.Fault{Step: smtptest.Recipient, Mode: mode, To: to, Times: times, Text: "5.1.1 User unknown"}
}

// Every mail arrives, whatever fault the server has. Only a lost reply causes a
// duplicate, which has the same id.
func TestMailsArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i, row := range []struct {
		fault smtptest.Fault
		most  int // mails to the visitor
	}{
		{smtptest.Fault{Step: smtptest.Greeting, Mode: smtptest.Reset, Times: 1}, 1},
		{smtptest.Fault{Step: smtptest.Sender, Mode: smtptest.Never, Times: 1}, 1},
		{refused("", smtptest.Later, 1), 1},
		{lost("", 1), 2},
	} {
		session := fmt.Sprint("fault-", i)
		s.server.Fail(row.fault)
		id := s.submit(session)
		apptest.Eventually(t, fmt.Sprintf("the mails arrive despite %+v", row.fault), func() bool {
			visitor, sales := s.repeated(id, lead.VisitorMail), s.repeated(id, lead.SalesMail)
			return visitor == lead.Delivered && sales == lead.Delivered
		})

		ids := map[string]bool{}
		got := s.mails(address(session))
		for _, m := range got {
			ids[m.Header.Get("Message-ID")] = true
		}
		if len(got) > row.most || len(ids) != 1 {
			t.Errorf("%+v: %d mails with the ids %v", row.fault, len(got), ids)
		}
	}
	if n := len(s.mails(sales)); n < 4 || n > 5 {
		t.Errorf("sales got %d mails about 4 leads", n)
	}
}

// A mailbox gets at most three mails a day, however its address is spelled, and whatever
// becomes of the settings meanwhile. Later leads with it are still mailed to sales. Gmail
// ignores dots in a name and everything after a plus sign, and has two domains. Other
// providers distinguish dots.
func TestMailsToOneMailbox(t *testing.T) {
	t.Parallel()
	s := start(t)
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
		id := s.submitFrom(fmt.Sprint("visit-", i), tt.email)
		s.Reaches(id, lead.VisitorMail, tt.want)
		s.Reaches(id, lead.SalesMail, lead.Delivered)
	}
}

// Each recipient of SALES_MAIL_TO gets one mail, whatever happens to the others' mails.
// The delivery fails only if all recipients are rejected.
func TestSalesMailToSeveral(t *testing.T) {
	t.Parallel()
	const one, two = "one@lumen.test", "two@lumen.test"
	s := start(t, "SALES_MAIL_TO="+one+", Two <"+two+">", "VISITOR_MAIL=off")
	type faults = []smtptest.Fault
	for _, c := range []struct {
		name     string
		faults   faults
		state    lead.DeliveryState
		one, two int
	}{
		{"both", nil, lead.Delivered, 1, 1},
		{"later", faults{refused(two, smtptest.Later, 2)}, lead.Delivered, 1, 1},
		{"one-refused", faults{refused(two, smtptest.Never, 0)}, lead.Delivered, 1, 0},
		{"refused", faults{refused("", smtptest.Never, 0)}, lead.Failed, 0, 0},
		{"one-silent-once", faults{lost(two, 1)}, lead.Delivered, 1, 2},
		{"one-silent", faults{lost(two, 0)}, lead.Unconfirmed, 1, 3},
		{"silent", faults{lost("", 0)}, lead.Unconfirmed, 3, 3},
		{"silent-and-later", faults{lost(two, 0), refused(one, smtptest.Later, 2)}, lead.Unconfirmed, 1, 3},
		{"silent-and-refused", faults{lost(two, 0), refused(one, smtptest.Never, 0)}, lead.Unconfirmed, 0, 3},
	} {
		s.server.Heal()
		s.server.Forget()
		s.server.Fail(c.faults...)
		id := s.submit(c.name)
		apptest.Eventually(t, c.name+" is "+string(c.state), func() bool {
			return s.repeated(id, lead.SalesMail) == c.state
		})
		if first, second := len(s.mails(one)), len(s.mails(two)); first != c.one || second != c.two {
			t.Errorf("%s: %d and %d mails, want %d and %d", c.name, first, second, c.one, c.two)
		}
	}
}

// No mail is sent about a lead in review. The visitor of a lead submitted while
// VISITOR_MAIL was off gets no mail, even after `verify --fix`. Both mails are sent about
// a released lead.
func TestWhichLeadsAreMailed(t *testing.T) {
	t.Parallel()
	s := start(t, "VISITOR_MAIL=off")
	before := s.submit("before")
	s.Reaches(before, lead.SalesMail, lead.Delivered)
	s.server.Forget()
	s.Restart("VISITOR_MAIL=on")

	suspect := s.Submit("suspect", `"website": "https://spam.example", "contact": {"email": "suspect@client.test"}`)
	if out, err := s.Command("deliveries", "verify", "--fix"); err != nil && !strings.Contains(out, "missing") {
		t.Errorf("%v: %s", err, out)
	}
	if off, review := s.noMailReason(before), s.noMailReason(suspect); off != "VISITOR_MAIL_OFF" || review != "IN_REVIEW" {
		t.Errorf("the reasons are %s and %s", off, review)
	}
	if n := len(s.server.Mails()); n > 0 {
		t.Errorf("%d mails were sent", n)
	}
	s.Prints("leads release " + suspect)
	s.receives(address("suspect"), 1)
	s.receives(sales, 1)
}

// In development mails are written to files, which an erasure deletes.
func TestMailsInDevelopment(t *testing.T) {
	t.Parallel()
	s := mailing{Service: apptest.Start(t, apptest.Quick)}
	id := s.submit("ana")
	folder := filepath.Join(s.DataDir, "mail")
	written := func() int {
		list, _ := filepath.Glob(filepath.Join(folder, "*.eml"))
		return len(list)
	}
	apptest.Eventually(t, "both mails are written", func() bool { return written() == 2 })

	// A preview does not replace the fallback copy of the content.
	origin := func() string {
		var head struct{ Origin string } // the first line
		file, err := os.Open(filepath.Join(s.DataDir, "content", "content-locale-es.json"))
		if err == nil {
			defer file.Close()
			_ = json.NewDecoder(file).Decode(&head)
		}
		return head.Origin
	}
	apptest.Eventually(t, "there is a fallback copy", func() bool { return origin() != "" })
	before := origin()
	s.Prints("mail preview --locale es --lead "+id[:8], "Content-Language: es")
	if after := origin(); after != before {
		t.Errorf("the preview replaced the fallback copy: its origin is %s, want %s", after, before)
	}

	s.Prints("mail test --to me@client.test", folder)
	s.Prints("leads erase --yes --email " + address("ana") + " --server " + s.Base)
	if n := written(); n != 1 {
		t.Errorf("after the erasure the folder has %d mails, want the test mail", n)
	}
}

// The joiners of a script or an emoji reach sales, the CMS, the CRM and the export.
func TestJoinersTravel(t *testing.T) {
	t.Parallel()
	vendors := apptest.NewVendors(t)
	s := start(t, vendors.Env()...)
	const name, message = "علی\u200cرضا", "👩\u200d👧 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f ශ්\u200dරී"
	id := s.Submit("joiners", `"message": "`+message+`", "contact": {"firstName": "`+name+`"}`)
	mail, export := s.receives(sales, 1), s.Prints("leads export").Out

	texts := map[string]string{
		"subject": mail.subject + message, "text": mail.text(), "HTML": mail.parts["text/html"], "export": export,
	}
	apptest.Eventually(t, "the lead is stored", func() bool {
		texts["CMS"] = fmt.Sprint(vendors.Documents("joiners"))
		texts["CRM"] = fmt.Sprint(vendors.Contacts("joiners@example.com"))
		return strings.Contains(texts["CMS"], id) && strings.Contains(texts["CRM"], id)
	})
	for where, text := range texts {
		if !strings.Contains(text, name) || !strings.Contains(text, message) {
			t.Errorf("%s has other words: %+q", where, text)
		}
	}
}
