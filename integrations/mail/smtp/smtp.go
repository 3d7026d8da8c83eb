// Package smtp is the mail driver that sends mails through a mail server, over TLS unless
// the server is on this machine.
//
// Each connection carries one mail to one recipient, because one rejected recipient would
// fail the mail for all. If the connection ends after the mail was written and before the
// server responded, the mail may have arrived: the cause of the error is
// [lead.ErrUnconfirmed].
package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	gosmtp "github.com/wneessen/go-mail/smtp"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/eml"
	"siteapi/integrations/upstream"
)

const (
	system = "smtp"
	// timeout limits the connection, the greeting, and all commands up to the mail's data.
	timeout = 20 * time.Second
	// acceptTimeout limits the response to the data, since servers scan the mail before it.
	acceptTimeout = 2 * time.Minute
	// quitTimeout limits QUIT, whose result is ignored.
	quitTimeout = time.Second
	// refusedPause is the pause of all mails after the server refused the login or the
	// sender.
	refusedPause = 15 * time.Minute
)

// Options configures a [Sender].
type Options struct {
	URL     *url.URL // smtps://user:password@host:465 or smtp://host:587, as [ParseURL] returns it
	From    string   // bare address of the envelope, which receives bounces
	SalesTo []string // bare addresses that the server must accept mails for
	Observe func(ctx context.Context, c upstream.Call)

	// TLS and Dial are for tests; nil: the system's certificates and network.
	TLS  *tls.Config
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sender sends mails. Its methods may be called concurrently.
type Sender struct {
	Options
	address  string // host and port
	loopback bool
}

// errAddress describes the address of a mail server.
var errAddress = errors.New(
	"must be an address such as smtps://user:password@host:465 or smtp://host:587, with nothing " +
		"after the port")

// ParseURL parses the address of a mail server. The error does not repeat it.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errAddress
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return nil, errAddress
	}

	password, _ := u.User.Password()
	if u.User != nil && (u.User.Username() == "" || password == "") {
		return nil, errors.New("must have both a user and a password, or neither. " +
			"Characters such as @ / : # in them are written as %40 %2F %3A %23")
	}

	return u, nil
}

// New returns a sender. It does no I/O.
func New(o Options) *Sender {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	port := cmp.Or(o.URL.Port(), map[string]string{"smtps": "465", "smtp": "587"}[o.URL.Scheme])
	return &Sender{o, net.JoinHostPort(o.URL.Hostname(), port), upstream.IsLocal(o.URL.Hostname())}
}

// Send implements [mail.Sender].
func (s *Sender) Send(ctx context.Context, m *mail.Message) error {
	return s.converse(ctx, "sending a mail", m.To, func(c *gosmtp.Client) (step, error) {
		return s.transfer(ctx, c, *m)
	})
}

// Check connects, logs in and verifies that the server accepts the sender's address and
// those of sales. It sends no mail.
func (s *Sender) Check(ctx context.Context) (found string, err error) {
	err = s.converse(ctx, "checking the mail server", "", func(c *gosmtp.Client) (step, error) {
		found = s.describe(c)
		return recipient, s.offer(c, s.SalesTo...)
	})
	return found, err
}

// describe returns a description of the server and the connection.
func (s *Sender) describe(c *gosmtp.Client) string {
	text := fmt.Sprintf("%s accepts mails from %s to %s", s.address, s.From, strings.Join(s.SalesTo, ", "))
	if s.URL.User != nil {
		text += ", logged in"
	}
	state, ok := c.TLSConnectionState()
	if !ok {
		return text + ", unencrypted on this machine"
	}
	until := state.PeerCertificates[0].NotAfter.UTC().Format(time.DateOnly)
	return fmt.Sprintf("%s, over %s, certificate valid until %s", text, tls.VersionName(state.Version), until)
}

// transfer sends one mail, and returns the step of the session that failed. The mail is
// encoded beforehand: if encoding failed midway, the server would deliver a truncated mail.
func (s *Sender) transfer(ctx context.Context, c *gosmtp.Client, m mail.Message) (step, error) {
	utf8, _ := c.Extension("SMTPUTF8")
	if !utf8 && !mail.ASCII(m.ReplyTo) {
		m.ReplyTo = "" // the body repeats the address
	}
	ascii := mail.ASCII(m.To) && mail.ASCII(m.ReplyTo)
	c.SkipSMTPUTF8(ascii) // an ASCII address does not need the extension

	data, err := eml.Encode(&m)
	if !ascii && !utf8 {
		err = errors.New("the mail server does not support addresses with non-ASCII letters")
	}
	if err != nil {
		return encoding, err
	}

	if err := c.Mail(envelope(s.From)); err != nil {
		return sender, err
	}
	if err := c.Rcpt(envelope(m.To)); err != nil {
		return recipient, err
	}
	if m.HandOver != nil {
		// The connection of an attempt that has ended may still be open.
		if err := errors.Join(m.HandOver(), ctx.Err()); err != nil {
			return content, err
		}
	}

	w, err := c.Data()
	if err != nil {
		return content, err
	}
	if _, err := w.Write(data); err != nil {
		return content, err // nothing is delivered without the final dot
	}
	_ = c.UpdateDeadline(acceptTimeout)
	return acceptance, w.Close()
}

// envelope returns a bare address between angle brackets.
func envelope(bare string) string {
	address, err := eml.Address(bare)
	if err != nil {
		return "<>" // never reached: the address was checked before
	}
	return address.String()
}

// converse connects, logs in, runs the rest of the SMTP session and reports the call.
func (s *Sender) converse(
	ctx context.Context, op, to string, rest func(*gosmtp.Client) (step, error),
) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection

	at, means := connecting, unclear
	client, err := s.connect(ctx)
	if err == nil {
		at, err = rest(client)
		if refusal(err) != "" && at > encoding {
			means = s.meaning(client, at, to, err)
		}
		if err == nil || at < content { // QUIT would complete the data
			_ = client.UpdateDeadline(quitTimeout)
			_ = client.Quit()
		}
	}

	call := upstream.Call{System: system, Op: op, Duration: time.Since(began)}
	if err != nil {
		failed := s.failure(ctx, op, to, at, means, err)
		call.Kind, err = failed.Kind, failed
	}
	if s.Observe != nil {
		s.Observe(ctx, call)
	}
	return err
}

// connect returns a logged-in client, whose connection is closed when ctx ends.
func (s *Sender) connect(ctx context.Context) (*gosmtp.Client, error) {
	dial := func(dialing context.Context, network, _ string) (net.Conn, error) {
		conn, err := s.Dial(dialing, network, s.address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		plain := &limited{Conn: conn}

		if s.URL.Scheme == "smtp" {
			return plain, nil
		}
		secure := tls.Client(plain, s.tls())
		return secure, secure.HandshakeContext(dialing)
	}

	client, err := gomail.NewClient(s.URL.Hostname(), append(s.login(),
		gomail.WithTimeout(timeout),
		// Servers refuse names without a dot.
		gomail.WithHELO(mail.Domain(strings.Trim(envelope(s.From), "<>"))),
		gomail.WithTLSConfig(s.tls()),
		gomail.WithTLSPolicy(s.policy()),
		gomail.WithDialContextFunc(dial),
	)...)
	if err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// login returns the options for a login, with the usual mechanisms for passwords.
func (s *Sender) login() []gomail.Option {
	user := s.URL.User
	if user == nil {
		return nil
	}
	password, _ := user.Password()
	return []gomail.Option{
		gomail.WithUsername(user.Username()),
		gomail.WithPassword(password),
		gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain,
			gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5),
	}
}

// policy requires STARTTLS unless the server is on this machine or the connection is
// already encrypted.
func (s *Sender) policy() gomail.TLSPolicy {
	if s.URL.Scheme == "smtps" || s.loopback {
		return gomail.NoTLS
	}
	return gomail.TLSMandatory
}

func (s *Sender) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.ServerName = s.URL.Hostname()
	return config
}

// step is a step of an SMTP session.
type step int

const (
	connecting step = iota // up to the login
	encoding               // the mail can't be sent to this server
	sender
	recipient
	content    // up to the final dot
	acceptance // the response to the content
)

// kindOf derives the kind and its cause from the server's refusal, or from the step if
// there is none.
func kindOf(at step, means meaning, err error) (upstream.Kind, error) {
	switch {
	case at == encoding:
		return upstream.Rejected, nil
	case refusal(err) != "":
		return means.kind(at)
	case at == connecting && replyCode(err) == 0 && !broken(err):
		return upstream.Refused, nil // such as a wrong certificate, or no STARTTLS
	}
	return upstream.Unavailable, nil
}

// broken reports whether the connection failed or the server's response was malformed.
func broken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	ends := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled, context.DeadlineExceeded}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

// replyCode returns the code of the server's reply; 0: it did not respond.
func replyCode(err error) int {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return reply.Code
	}
	return 0
}

// failure returns the error of an SMTP session, with the server's response redacted.
func (s *Sender) failure(
	ctx context.Context, op, to string, at step, means meaning, err error,
) *upstream.Error {
	password, _ := s.URL.User.Password()
	e := &upstream.Error{
		System: system,
		Op:     op,
		Detail: upstream.Redact(err.Error(), to, password, s.URL.User.Username()),
	}
	e.Kind, e.Err = kindOf(at, means, err)
	if e.Kind == upstream.Refused {
		e.Pause = refusedPause
	}

	if ended := ctx.Err(); ended != nil && e.Kind == upstream.Unavailable {
		e.Detail, e.Err = "the SMTP session did not finish in time", ended
	}
	if at == acceptance && replyCode(err) < 400 {
		e.Err = lead.ErrUnconfirmed
	}
	return e
}
