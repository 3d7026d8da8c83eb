package mail

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
)

// later moves everything that a stopped service has stored into the past.
func later(s *apptest.Site, by time.Duration) {
	s.T.Helper()
	seconds := fmt.Sprintf("'-%d seconds'", int(by.Seconds()))
	const shifted = `(SELECT json_group_object(key, json_set(value, '$.at',
strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', value ->> 'at', %[1]s))) FROM json_each(%[2]s))`
	for _, statement := range []string{
		fmt.Sprintf(`UPDATE deliveries SET running_until = max(0, running_until - %[1]d), next_at = max(0, next_at - %[1]d)`,
			by.Milliseconds()),
		`UPDATE deliveries SET handed_over = ` + fmt.Sprintf(shifted, seconds, `handed_over`) + ` WHERE handed_over <> ''`,
		`UPDATE river_job SET metadata = json_set(metadata, '$.output', json(` +
			fmt.Sprintf(shifted, seconds, `metadata, '$.output'`) + `)) WHERE metadata ->> 'output' <> ''`,
		`UPDATE river_job SET scheduled_at = datetime(scheduled_at, ` + seconds + `),
attempted_at = datetime(attempted_at, ` + seconds + `)`,
	} {
		s.Damage(statement)
	}
}

// A mail whose acceptance is lost (the service is killed, then stopped, then the connection
// is reset) is repeated after an hour and after six more, with the same Message-ID, and then
// ends as unconfirmed. Sending it again is a new mail. The mail to an owner is dropped then.
func TestKilledWhileMailing(t *testing.T) {
	t.Parallel()
	const owner, waits, unconfirmed = "owner@lumen.test", `handed over but not confirmed`, `"UNCONFIRMED"`
	server, env := apptest.MailServer(t, smtptest.Options{}, "ADMIN_TOKENS="+apptest.Owners(owner))
	s := apptest.NewSite(t, env...)
	shows := func(what, text string, number int) {
		t.Helper()
		apptest.Eventually(t, what, func() bool {
			time.Sleep(time.Second) // each check starts a process
			out, _ := s.Run("deliveries", "list", "--state", "all", "--json")
			return strings.Count(out, text) == number
		})
	}
	recipients := []string{address("killed"), sales}
	sent := func(copies int) {
		t.Helper()
		for _, to := range recipients {
			apptest.Mailed(t, server, to, copies)
			ids := map[string]bool{}
			for _, m := range apptest.MailsTo(server, to) {
				ids[m.Header.Get("Message-ID")] = true
			}
			if len(ids) != 1 {
				t.Errorf("the %d mails to %s have %d ids, want one", copies, to, len(ids))
			}
		}
	}

	s.Start()
	server.Fail(smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Hang})
	id := s.Submit("killed", `"contact": {"email": "killed@client.test"}`)
	sent(1)
	_ = s.End(syscall.SIGKILL)

	later(s, 5*time.Minute)
	s.Start()
	shows("both mails wait for a repetition after the kill", waits, 2)
	s.Prints("leads assign "+id+" "+owner, owner)
	recipients = append(recipients, owner)
	sent(1)
	s.Stop(t)

	later(s, time.Hour)
	s.Start()
	sent(2)
	s.Stop(t)
	shows("both mails wait for the last repetition after the stop", waits, 2)
	if out, _ := s.Run("doctor"); !strings.Contains(out, "none is late") {
		t.Errorf("while they wait, the doctor prints %s", out)
	}

	server.Heal()
	server.Fail(lost("", 0))
	later(s, 6*time.Hour)
	s.Start()
	sent(3)
	shows("both mails are unconfirmed", unconfirmed, 2)
	s.Stop(t)

	later(s, 24*time.Hour)
	s.Start()
	server.Heal()
	s.Prints("deliveries resend "+id+" --target sales-mail", lead.Reference(id))
	shows("the mail to sales is sent again", unconfirmed, 1)
	again := apptest.Mailed(t, server, sales, 4)
	if again.Header.Get("Message-ID") == apptest.MailsTo(server, sales)[0].Header.Get("Message-ID") {
		t.Error("the fourth mail to sales has the id of the first")
	}
	if n := len(apptest.MailsTo(server, owner)); n != 3 {
		t.Errorf("the owner has %d mails, want 3", n)
	}
}

// Mails to visitors beyond VISITOR_MAILS_PER_HOUR wait, and their reason names that
// limit. Mails to sales are still sent. The doctor reports the likely cause.
func TestMailsFromOneNetwork(t *testing.T) {
	t.Parallel()
	s := start(t, "TRUSTED_PROXIES=127.0.0.1", "RATE_LIMITS=on", "VISITOR_MAILS_PER_HOUR=6")
	var ids []string
	for i := range 8 {
		ids = append(ids, s.submit(fmt.Sprint("session-", i), fmt.Sprintf("X-Forwarded-For: 2001:db8::%d", i+1)))
	}
	for _, id := range ids {
		s.Reaches(id, lead.SalesMail, lead.Delivered)
	}
	var waiting []string
	apptest.Eventually(t, "all but two are mailed", func() bool {
		waiting = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			return s.Deliveries(id)[lead.VisitorMail].Code == ""
		})
		return len(waiting) == 2 && len(s.server.Mails()) == 6+8
	})
	for _, id := range waiting {
		if got := s.noMailReason(id); got != "SERVICE_LIMIT" {
			t.Errorf("the reason is %s", got)
		}
	}

	const warning = "came from one network"
	out, _ := s.Command("doctor")
	if !strings.Contains(out, warning) || !strings.Contains(out, "TRUSTED_PROXIES") {
		t.Errorf("the doctor prints %s", out)
	}
	unlimited := apptest.Service{Client: s.Client, Env: append(slices.Clone(s.Env), "RATE_LIMITS=off")}
	if out, _ = unlimited.Command("doctor"); strings.Contains(out, warning) || strings.Contains(out, "share one rate limit") {
		t.Errorf("without limits the doctor prints %s", out)
	}
	other := s.submit("other", "X-Forwarded-For: 2001:db8:1::1")
	s.Reaches(other, lead.SalesMail, lead.Delivered)
	if out, _ = s.Command("doctor"); strings.Contains(out, warning) {
		t.Errorf("with two networks the doctor prints %s", out)
	}
	if n := len(s.server.Mails()); n != 6+9 {
		t.Errorf("the server accepted %d mails, want 6 to visitors and 9 to sales", n)
	}
}

// openSMTPD starts Debian's mail server, and returns its address and its delivery folder.
// The paths of its queue and its socket are fixed, so only one instance can run. It must
// be started as root.
func openSMTPD(t *testing.T) (addr, folder string) {
	t.Helper()
	if os.Getuid() != 0 {
		apptest.SkipWithout(t, errors.New("smtpd must be started as root"))
	}
	addr = apptest.FreeAddress(t)
	host, port, _ := net.SplitHostPort(addr)

	// The server delivers as a user that cannot read the folders of t.TempDir.
	dir, err := os.MkdirTemp("", "siteapi-smtpd-")
	must(t, err)
	must(t, os.Chmod(dir, 0o777)) //nolint:gosec // see above
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	folder, file := filepath.Join(dir, "mail"), filepath.Join(dir, "smtpd.conf")
	config := fmt.Sprintf(`table users { "@" = nobody }
listen on %s port %s
action "keep" maildir %q virtual <users>
match from any for any action "keep"
`, host, port, folder)
	must(t, os.WriteFile(file, []byte(config), 0o600))

	apptest.Serve(t, addr, nil, "smtpd", "-d", "-f", file)
	return addr, folder
}

// TestMailThroughOpenSMTPD delivers both mails through a real mail server.
func TestMailThroughOpenSMTPD(t *testing.T) {
	t.Parallel()
	addr, folder := openSMTPD(t)
	s := apptest.Start(t,
		"SMTP_URL=smtp://"+addr,
		"MAIL_FROM=quotes@lumen.test",
		"SALES_MAIL_TO="+sales,
		apptest.Quick,
	)
	if out, _ := s.Command("doctor"); !strings.Contains(out, "accepts mails from") {
		t.Errorf("the doctor prints %s", out)
	}

	mailing{Service: s}.submit("ana")
	found := map[string]string{} // mails by recipient
	apptest.Eventually(t, "both mails are delivered", func() bool {
		mails, _ := filepath.Glob(filepath.Join(folder, "new", "*"))
		for _, path := range mails {
			text, _ := os.ReadFile(path)
			_, to, _ := strings.Cut(string(text), "Delivered-To: ")
			to, _, _ = strings.Cut(to, "\n")
			found[to] = string(text)
		}
		return len(mails) == 2
	})
	if !strings.Contains(found[address("ana")], `filename="oferta-`) ||
		!strings.Contains(found[sales], "Reply-To: <"+address("ana")+">") {
		t.Errorf("delivered: %v", found)
	}
}

// A refusal that may be the service's own fault ends a mail only if the server accepts mails
// to sales. Otherwise all mails wait. After the repair, `retry --all` sends both.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const words = "5.7.1 Relay access denied"
	s := start(t)
	s.server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, To: address("one"), Text: words})
	one, two := s.submit("one"), s.submit("two")
	s.Reaches(one, lead.VisitorMail, lead.NotSent)
	s.Reaches(one, lead.SalesMail, lead.Delivered)
	s.Reaches(two, lead.VisitorMail, lead.Delivered)
	s.Reaches(two, lead.SalesMail, lead.Delivered) // or it would wait with the next one
	if got := s.noMailReason(one); got != lead.MailRefused {
		t.Errorf("the reason is %s", got)
	}

	s.server.Heal()
	s.server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, Text: words})
	three := s.submit("three")
	apptest.Eventually(t, "both mails wait", func() bool {
		d := s.Deliveries(three)
		return strings.Contains(d[lead.VisitorMail].Paused, words) && strings.Contains(d[lead.SalesMail].Paused, words)
	})
	if d := s.Deliveries(three); d[lead.VisitorMail].Attempts+d[lead.SalesMail].Attempts > 0 {
		t.Errorf("the attempts count: %+v", d)
	}
	if out, _ := s.Command("doctor"); !strings.Contains(out, words) || !strings.Contains(out, "SALES_MAIL_TO") {
		t.Errorf("the doctor prints %s", out)
	}

	s.server.Forget() // before a mail can arrive by itself
	s.server.Heal()
	s.Prints("deliveries retry --all")
	s.receives(address("one"), 1)
	s.receives(address("three"), 1)
	s.receives(sales, 1)
}

// The doctor gives the reason of a mail that the mail server keeps from arriving, even if
// newer mails were not sent for other reasons.
func TestReasonOfStuckMails(t *testing.T) {
	t.Parallel()
	const words = "5.7.1 Relay access denied"
	s := start(t)
	for _, to := range []string{"ana@one.test", "ana@two.test", "ana@three.test"} {
		s.server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, To: to, Text: words})
		s.Reaches(s.submitFrom(to[4:], to), lead.VisitorMail, lead.NotSent)
	}
	s.server.Fail(refused(address("unknown"), smtptest.Never, 0))
	s.Reaches(s.submit("unknown"), lead.VisitorMail, lead.NotSent)

	out, _ := s.Command("doctor")
	if _, found, _ := strings.Cut(out, "3 mails to visitors do not arrive"); !strings.Contains(found, words) {
		t.Errorf("the doctor prints %s", out)
	}
}

// The doctor logs in and checks that the sender is accepted, without sending a mail.
// `mail test` sends one. Both run the binary with production settings, over TLS. In
// production no mail is sent to an address in a reserved domain such as example.com.
func TestMailInProduction(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{Implicit: true, Login: true})
	certificate := filepath.Join(t.TempDir(), "mail.pem")
	must(t, os.WriteFile(certificate, server.PEM, 0o600))
	_, port, _ := strings.Cut(server.Addr, ":")
	env = slices.Concat(env, apptest.DefaultLimits(t), []string{
		"ADMIN_PAGE=off",
		"SMTP_URL=smtps://siteapi:s3cret%2Fpass%3Aword@127.0.0.1:" + port,
		"SSL_CERT_FILE=" + certificate,
	})
	s := apptest.NewSite(t, env...).Start()
	s.Submit("visit") // its address is in example.com
	apptest.Mailed(t, server, sales, 1)
	apptest.Eventually(t, "the visitor's mail is not sent", func() bool {
		out, _ := s.Run("deliveries", "list", "--state", "not-sent")
		return strings.Contains(out, "RFC 2606")
	})

	server.Forget()
	if out, _ := s.Run("doctor"); !strings.Contains(out, "logged in") || strings.Contains(out, "s3cret") ||
		len(server.Mails()) > 0 {
		t.Errorf("the doctor prints %s", out)
	}
	s.Prints("mail test --to me@client.test")
	apptest.Mailed(t, server, "me@client.test", 1)
}
