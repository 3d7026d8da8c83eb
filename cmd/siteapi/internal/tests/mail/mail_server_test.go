package mail

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
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
func later(t *testing.T, dir string, by time.Duration) {
	t.Helper()
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
		(&apptest.Site{T: t, Dir: dir}).Damage(statement)
	}
}

// A mail whose acceptance is lost (the service is killed, then stopped, then the connection
// is reset) is repeated after an hour and after six more, with the same Message-ID, and then
// ends as unconfirmed. Sending it again is a new mail. The mail to an owner is dropped then.
func TestKilledWhileMailing(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{}, "ADMIN_TOKENS=owner@lumen.test:sales:1123456789abcdef")
	dir := t.TempDir()
	run := func(args ...string) string {
		out, _ := apptest.Command(t, append(env, "ENVIRONMENT=development", "DATA_DIR="+dir), args...)
		return out
	}
	shows := func(what, text string, number int) {
		t.Helper()
		apptest.Eventually(t, what, func() bool {
			time.Sleep(time.Second) // each check starts a process
			return strings.Count(run("deliveries", "list", "--state", "all", "--json"), text) == number
		})
	}
	recipients := []string{address("killed"), "sales@lumen.test"}
	sent := func(copies int) {
		t.Helper()
		apptest.Eventually(t, fmt.Sprintf("the server has %d copies", copies), func() bool {
			return len(server.Mails()) >= len(recipients)*copies
		})
		for _, to := range recipients {
			if n, ids := countMails(server, to); n != copies || ids != 1 {
				t.Errorf("%s has %d mails with %d ids, want %d with one", to, n, ids, copies)
			}
		}
	}
	const waits = `handed over but not confirmed`

	service := apptest.Launch(t, dir, env...)
	server.Fail(smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Hang})
	id := service.Submit("killed", `"contact": {"email": "killed@client.test"}`)
	sent(1)
	_ = service.End(syscall.SIGKILL)

	later(t, dir, 5*time.Minute)
	service = apptest.Launch(t, dir, env...)
	shows("both mails wait for a repetition after the kill", waits, 2)
	if out := run("leads", "assign", id, "owner@lumen.test"); !strings.Contains(out, "owner@lumen.test") {
		t.Errorf("assigning prints %s", out)
	}
	recipients = append(recipients, "owner@lumen.test")
	sent(1)
	if err := service.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}

	later(t, dir, time.Hour)
	service = apptest.Launch(t, dir, env...)
	sent(2)
	if err := service.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	shows("both mails wait for the last repetition after the stop", waits, 2)
	if out := run("doctor"); !strings.Contains(out, "none is late") {
		t.Errorf("while they wait, the doctor prints %s", out)
	}

	server.Heal()
	server.Fail(smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Reset})
	later(t, dir, 6*time.Hour)
	service = apptest.Launch(t, dir, env...)
	sent(3)
	shows("both mails are unconfirmed", `"UNCONFIRMED"`, 2)
	if err := service.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}

	later(t, dir, 24*time.Hour)
	apptest.Launch(t, dir, env...)

	server.Heal()
	if out := run("deliveries", "resend", id, "--target", "sales-mail"); !strings.Contains(out, lead.Reference(id)) {
		t.Errorf("resending prints %s", out)
	}
	shows("the mail to sales is sent again", `"UNCONFIRMED"`, 1)
	to := "sales@lumen.test"
	apptest.Mailed(t, server, to, 4)
	if _, ids := countMails(server, to); ids != 2 {
		t.Error("the fourth mail to sales has the id of the first")
	}
	if n := len(apptest.MailsTo(server, "owner@lumen.test")); n != 3 {
		t.Errorf("the owner has %d mails, want 3", n)
	}
}

// Mails to visitors beyond VISITOR_MAILS_PER_HOUR wait, and their reason names that
// limit. Mails to sales are still sent. The doctor reports the likely cause.
func TestMailsFromOneNetwork(t *testing.T) {
	t.Parallel()
	server, env := apptest.MailServer(t, smtptest.Options{},
		"TRUSTED_PROXIES=127.0.0.1", "RATE_LIMITS=on", "VISITOR_MAILS_PER_HOUR=6")
	s := apptest.Start(t, env...)

	var ids []string
	for i := range 8 {
		from := fmt.Sprintf("X-Forwarded-For: 2001:db8::%d", i+1)
		ids = append(ids, submitMailed(s, fmt.Sprintf("session-%d", i), from))
	}
	var waiting []string
	apptest.Eventually(t, "all but two are mailed", func() bool {
		waiting = nil
		for _, id := range ids {
			d := s.Deliveries(id)
			if d[lead.SalesMail].State != lead.Delivered {
				return false
			}
			if d[lead.VisitorMail].Paused != "" {
				waiting = append(waiting, id)
			}
		}
		return len(waiting) == 2 && len(server.Mails()) == 6+8
	})
	for _, id := range waiting {
		if got := fmt.Sprint(leadAsOperator(s, id, "noMailReason")); !strings.Contains(got, "SERVICE_LIMIT") {
			t.Errorf("the reason is %s", got)
		}
	}

	const warning = "came from one network"
	out, _ := s.Command("doctor")
	if !strings.Contains(out, warning) || !strings.Contains(out, "TRUSTED_PROXIES") {
		t.Errorf("the doctor prints %s", out)
	}
	other := submitMailed(s, "other", "X-Forwarded-For: 2001:db8:1::1")
	s.Reaches(other, lead.SalesMail, lead.Delivered)
	if out, _ = s.Command("doctor"); strings.Contains(out, warning) {
		t.Errorf("with two networks the doctor prints %s", out)
	}
	if n := len(server.Mails()); n != 6+9 {
		t.Errorf("the server accepted %d mails, want 6 to visitors and 9 to sales", n)
	}
}

// openSMTPD starts Debian's mail server, and returns its address and its delivery folder.
// The paths of its queue and its socket are fixed, so only one instance can run. It must
// be started as root.
func openSMTPD(t *testing.T) (addr, folder string) {
	t.Helper()
	program, err := exec.LookPath("smtpd")
	if err == nil && os.Getuid() != 0 {
		err = fmt.Errorf("%s must be started as root", program)
	}
	apptest.SkipWithout(t, err)

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	addr = listener.Addr().String()
	_ = listener.Close()
	host, port, _ := net.SplitHostPort(addr)
	// The server delivers as a user that cannot read the folders of t.TempDir.
	dir, err := os.MkdirTemp("", "siteapi-smtpd-")
	if err == nil {
		err = os.Chmod(dir, 0o777) //nolint:gosec // see above
	}
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	folder, file := filepath.Join(dir, "mail"), filepath.Join(dir, "smtpd.conf")
	config := fmt.Sprintf(`table users { "@" = nobody }
listen on %s port %s
action "keep" maildir %q virtual <users>
match from any for any action "keep"
`, host, port, folder)
	must(t, os.WriteFile(file, []byte(config), 0o600))

	var out apptest.SyncBuffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-d", "-f", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	apptest.Eventually(t, "the mail server listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return addr, folder
}

// TestMailThroughOpenSMTPD delivers both mails through a real mail server.
func TestMailThroughOpenSMTPD(t *testing.T) {
	t.Parallel()
	addr, folder := openSMTPD(t)
	s := apptest.Start(t,
		"SMTP_URL=smtp://"+addr,
		"MAIL_FROM=quotes@lumen.test",
		"SALES_MAIL_TO=sales@lumen.test",
		apptest.Quick,
	)
	if out, _ := s.Command("doctor"); !strings.Contains(out, "accepts mails from") {
		t.Errorf("the doctor prints %s", out)
	}

	submitMailed(s, "ana")
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
	if !strings.Contains(found[address("ana")], `filename="quote-`) ||
		!strings.Contains(found["sales@lumen.test"], "Reply-To: <"+address("ana")+">") {
		t.Errorf("delivered: %v", found)
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
	dir := t.TempDir()
	r := apptest.Launch(t, dir, env...)
	r.Submit("visit") // its address is in example.com
	apptest.Mailed(t, server, "sales@lumen.test", 1)

	all := append(env, "DATA_DIR="+dir)
	apptest.Eventually(t, "the visitor's mail is not sent", func() bool {
		out, _ := apptest.Command(t, all, "deliveries", "list", "--state", "not-sent")
		return strings.Contains(out, "RFC 2606")
	})
	server.Forget()
	if out, _ := apptest.Command(t, all, "doctor"); !strings.Contains(out, "logged in") || strings.Contains(out, "s3cret") ||
		len(server.Mails()) > 0 {
		t.Errorf("the doctor prints %s", out)
	}
	if out, code := apptest.Command(t, all, "mail", "test", "--to", "me@client.test"); code != 0 ||
		len(apptest.MailsTo(server, "me@client.test")) != 1 {
		t.Errorf("mail test: %d %s", code, out)
	}
}
