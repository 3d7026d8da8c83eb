package smtp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	contract "siteapi/integrations/mail"
	"siteapi/integrations/mail/mailtest"
	"siteapi/integrations/mail/smtp"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/upstream"
)

func start(t *testing.T, o smtptest.Options) *smtptest.Server {
	t.Helper()
	s, err := smtptest.Start(o)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// open returns a sender for an address that is served as if it were on another machine.
func open(t *testing.T, s *smtptest.Server, address string) *smtp.Sender {
	t.Helper()
	u, err := smtp.ParseURL(address)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.PEM)
	return smtp.New(smtp.Options{
		URL:  u,
		From: "quotes@lumen.test",
		TLS:  &tls.Config{RootCAs: roots},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Addr)
		},
	})
}

const (
	secure   = "smtps://siteapi:s3cret%2Fpass%3Aword@" + smtptest.Host
	startTLS = "smtp://siteapi:s3cret%2Fpass%3Aword@" + smtptest.Host
)

func message(to string) *contract.Message {
	return &contract.Message{
		ID:      "5f0c@lumen.test",
		Name:    "5f0c-visitor",
		From:    mail.Address{Name: "Lumen Studio", Address: "quotes@lumen.test"},
		To:      to,
		ReplyTo: "hello@lumen.test",
		Subject: "Estimare pentru proiect",
		Locale:  "ro",
		Text:    "Bună,\n.\nun punct singur pe un rând",
		HTML:    `<p>Bună</p><img src="cid:logo">`,
		Logo:    []byte("\x89PNG"),
		Attachments: []contract.Attachment{
			{Name: "quote.pdf", ContentType: "application/pdf", Content: []byte("%PDF-1.4")},
		},
	}
}

func kindOf(err error) upstream.Kind {
	if err == nil {
		return ""
	}
	return upstream.KindOf(err)
}

// Every mail driver keeps these promises.
func TestDriver(t *testing.T) {
	t.Parallel()
	const relay = "5.7.1 Relay access denied"
	faults := map[mailtest.Fate]smtptest.Fault{
		mailtest.Later:     {Step: smtptest.Recipient, Mode: smtptest.Later},
		mailtest.Ours:      {Step: smtptest.Recipient, Mode: smtptest.Never, Text: relay},
		mailtest.OnlyHere:  {Step: smtptest.Recipient, Mode: smtptest.Never, Text: relay, To: mailtest.Recipient},
		mailtest.NoMailbox: {Step: smtptest.Recipient, Mode: smtptest.Never, Text: "5.1.1 User unknown"},
		mailtest.Rejected:  {Step: smtptest.Data, Mode: smtptest.Never, Text: "5.2.2 Mailbox full"},
		mailtest.Away:      {Step: smtptest.Greeting, Mode: smtptest.Reset},
		mailtest.Lost:      {Step: smtptest.Taken, Mode: smtptest.Reset},
	}
	mailtest.Run(t, func(t *testing.T, fate mailtest.Fate) mailtest.Subject {
		server := start(t, smtptest.Options{})
		if fault, ok := faults[fate]; ok {
			server.Fail(fault)
		}
		sender := open(t, server, "smtp://localhost")
		sender.SalesTo = []string{mailtest.Sales}
		return mailtest.Subject{Sender: sender, IDs: func() (ids []string) {
			for _, m := range server.Mails() {
				sent, err := mail.ReadMessage(bytes.NewReader(m.Data))
				must(t, err)
				ids = append(ids, strings.Trim(sent.Header.Get("Message-ID"), "<>"))
			}
			return slices.Compact(ids)
		}}
	}, mailtest.Fates()...)
}

func TestSendOverTLS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options smtptest.Options
		address string
	}{
		"implicit": {smtptest.Options{Implicit: true, Login: true}, secure},
		"STARTTLS": {smtptest.Options{StartTLS: true, Login: true}, startTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, c.options)
			sender := open(t, server, c.address)
			must(t, sender.Send(t.Context(), message("ana@client.test")))
			mails := server.Mails()
			if len(mails) != 1 || mails[0].From != "quotes@lumen.test" || mails[0].To != "ana@client.test" {
				t.Fatalf("the server accepted %v", mails)
			}
			found, err := sender.Check(t.Context())
			if err != nil || !strings.Contains(found, "TLS 1.3") || !strings.Contains(found, "logged in") {
				t.Errorf("the check found %q, %v", found, err)
			}
			if len(server.Mails()) != 1 {
				t.Error("the check sent a mail")
			}
		})
	}
}

// TestFaults makes each step fail in each way. The server has a mail whose sending failed
// only if the fault occurs after the mail was stored.
func TestFaults(t *testing.T) {
	t.Parallel()
	steps := []smtptest.Step{smtptest.Greeting, smtptest.Hello, smtptest.StartTLS, smtptest.Auth, smtptest.Sender,
		smtptest.Recipient, smtptest.Data, smtptest.Taken}
	modes := []smtptest.Mode{smtptest.Later, smtptest.Never, smtptest.Hang, smtptest.Reset}
	for _, step := range steps {
		for _, mode := range modes {
			t.Run(string(step)+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				server := start(t, smtptest.Options{StartTLS: true, Login: true})
				server.Fail(smtptest.Fault{Step: step, Mode: mode})
				patience := 15 * time.Second
				if mode == smtptest.Hang {
					patience = time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := open(t, server, startTLS).Send(ctx, message("ana@client.test"))
				if got, want := kindOf(err), kindFor(step, mode); got != want {
					t.Errorf("the error is %v, want kind %q", err, want)
				}
				if taken := len(server.Mails()) == 1; taken != (step == smtptest.Taken) {
					t.Errorf("the server accepted the mail: %v", taken)
				}
			})
		}
	}
}

func kindFor(step smtptest.Step, mode smtptest.Mode) upstream.Kind {
	switch {
	case mode != smtptest.Never, step == smtptest.StartTLS, step == smtptest.Recipient: // it gives no reason
		return upstream.Unavailable
	case step == smtptest.Data, step == smtptest.Taken:
		return upstream.Rejected
	}
	return upstream.Refused
}

func TestLogin(t *testing.T) {
	t.Parallel()
	server := start(t, smtptest.Options{Implicit: true, Login: true})
	plain, upgraded := start(t, smtptest.Options{}), start(t, smtptest.Options{StartTLS: true, Login: true})
	for name, c := range map[string]struct {
		server  *smtptest.Server
		address string
	}{
		"wrong password":              {server, "smtps://siteapi:mistyped@" + smtptest.Host},
		"no login":                    {server, "smtps://" + smtptest.Host},
		"certificate of another host": {server, "smtps://siteapi:s3cret%2Fpass%3Aword@other.test"},
		"the same after STARTTLS":     {upgraded, "smtp://siteapi:s3cret%2Fpass%3Aword@other.test"},
		"STARTTLS is missing":         {plain, "smtp://" + smtptest.Host},
		"AUTH is missing":             {plain, "smtp://siteapi:s3cret@localhost"},
		"TLS is missing":              {plain, secure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := open(t, c.server, c.address)
			err := sender.Send(t.Context(), message("ana@client.test"))
			if _, checked := sender.Check(t.Context()); kindOf(err) != kindOf(checked) {
				t.Errorf("Send returned %v, Check %v", err, checked)
			}
			if name == "no login" && kindOf(err) == upstream.Rejected || kindOf(err) == "" ||
				name != "no login" && kindOf(err) != upstream.Refused {
				t.Errorf("the error is %v", err)
			}
			for _, secret := range []string{"mistyped", "s3cret", "ana@"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error contains %q: %v", secret, err)
				}
			}
		})
	}
}

// An error has the server's words without the address of the recipient.
func TestRejectedRecipient(t *testing.T) {
	t.Parallel()
	server := start(t, smtptest.Options{})
	const words = "5.1.1 ana.pop@client.test: user unknown"
	server.Fail(smtptest.Fault{Step: smtptest.Recipient, Mode: smtptest.Never, Text: words})
	err := open(t, server, "smtp://localhost").Send(t.Context(), message("ana.pop@client.test"))
	if !errors.Is(err, contract.ErrNoMailbox) || !strings.Contains(err.Error(), "user unknown") ||
		strings.Contains(err.Error(), "ana.pop") {
		t.Errorf("the error is %v", err)
	}
}

// TestHeaders checks that no text in a message can add a header, a recipient or a part.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`"Ana" <x@evil.test>,`,
		"Ana\r\nBcc: x@evil.test\r\n\r\n<b>",
		"\u202egnp.exe",
	} {
		t.Run(text[:4], func(t *testing.T) {
			t.Parallel()
			server := start(t, smtptest.Options{})
			m := message("ana@client.test")
			m.Subject, m.From.Name, m.Text = text, text, text
			must(t, open(t, server, "smtp://localhost").Send(t.Context(), m))
			sent, err := mail.ReadMessage(bytes.NewReader(server.Mails()[0].Data))
			must(t, err)

			for name, want := range map[string]string{
				"To":               "<ana@client.test>",
				"Reply-To":         "<hello@lumen.test>",
				"Bcc":              "",
				"User-Agent":       "",
				"X-Mailer":         "",
				"Auto-Submitted":   "auto-generated",
				"Message-Id":       "<5f0c@lumen.test>",
				"Content-Language": "ro",
			} {
				if got := sent.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			from, err := sent.Header.AddressList("From")
			if err != nil || len(from) != 1 || from[0].Address != "quotes@lumen.test" {
				t.Errorf("From is %v, %v", from, err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(sent.Header.Get("Subject"))
			if err != nil || strings.ContainsAny(subject, "\r\n\u202e") || !strings.Contains(text, subject[:3]) {
				t.Errorf("the subject is %q, %v", subject, err)
			}
			if at, err := sent.Header.Date(); err != nil || time.Since(at) > time.Minute {
				t.Errorf("the date is %v, %v, want the time of sending", at, err)
			}
			body, _ := io.ReadAll(sent.Body)
			if n := bytes.Count(body, []byte("Content-Type:")); n != 6 {
				t.Errorf("there are %d parts:\n%s", n, body)
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"smtps://siteapi:secret@mail.test:465": true,
		"smtp://mail.test":                     true,
		"smtp://[::1]:25/":                     true,
		"smtp://":                              false,
		"smtp://mail.test:0":                   false,
		"smtps://siteapi@mail.test":            false,
		"smtps://mail.test/?auth=plain":        false,
	} {
		u, err := smtp.ParseURL(address)
		if (err == nil) != ok {
			t.Errorf("%s: %v, %v", address, u, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
