// Package smtptest is a mail server for tests. It stores accepted mails, and can fail as
// real mail servers do.
package smtptest

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// The credentials of servers that require a login.
const (
	User     = "siteapi"
	Password = "s3cret/pass:word"
)

// Host is a name in the certificate of every server, in addition to 127.0.0.1.
const Host = "example.com"

// Options configures a server.
type Options struct {
	Implicit bool // TLS from the beginning, as on port 465
	StartTLS bool
	Login    bool
	UTF8     bool // supports addresses with non-ASCII letters
}

// Mail is a mail that the server accepted.
type Mail struct {
	From, To string // addresses of the envelope
	UTF8     bool   // the client asked for SMTPUTF8
	Data     []byte
}

// Server is a running mail server.
type Server struct {
	Addr string
	PEM  []byte // the certificate

	options  Options
	server   *smtp.Server
	listener net.Listener

	mu     sync.Mutex
	faults []*Fault
	mails  []Mail
}

// Start starts a server. The caller must close it.
func Start(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: listener.Addr().String(), options: o}

	web := httptest.NewTLSServer(nil) // its certificate is used for this server
	config := web.TLS.Clone()
	config.NextProtos = nil
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, s.fail(StartTLS, hello.Conn, "")
	}
	s.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	web.Close()

	s.server = smtp.NewServer(smtp.BackendFunc(s.newSession))
	s.server.Domain = Host
	s.server.AllowInsecureAuth = true
	s.server.EnableSMTPUTF8 = o.UTF8
	s.server.ErrorLog = log.New(io.Discard, "", 0)
	s.server.ReadTimeout = time.Minute

	if o.StartTLS {
		s.server.TLSConfig = config
	}
	if o.Implicit {
		listener = tls.NewListener(listener, config)
	}
	s.listener = listener
	go func() { _ = s.server.Serve(faultyListener{listener, s}) }()
	return s, nil
}

// Close stops the server.
func (s *Server) Close() {
	_ = s.listener.Close()
	_ = s.server.Close()
}

// Mails returns the accepted mails, the oldest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Forget drops the mails accepted so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = nil
}

func (s *Server) newSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{server: s, conn: c.Conn()}, s.fail(Hello, c.Conn(), "")
}

// session is one SMTP session.
type session struct {
	server   *Server
	conn     net.Conn
	loggedIn bool
	mail     Mail
}

// AuthMechanisms implements [smtp.AuthSession].
func (s *session) AuthMechanisms() []string {
	if s.server.options.Login {
		return []string{sasl.Plain}
	}
	return nil
}

// Auth implements [smtp.AuthSession].
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if err := s.server.fail(Auth, s.conn, ""); err != nil {
			return err
		}
		if s.loggedIn = user == User && password == Password; !s.loggedIn {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

// Mail implements [smtp.Session].
func (s *session) Mail(from string, o *smtp.MailOptions) error {
	if s.server.options.Login && !s.loggedIn {
		return smtp.ErrAuthRequired
	}
	s.mail.From, s.mail.UTF8 = from, o != nil && o.UTF8
	return s.server.fail(Sender, s.conn, "")
}

// Rcpt implements [smtp.Session].
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	return s.server.fail(Recipient, s.conn, to)
}

// Data implements [smtp.Session].
func (s *session) Data(r io.Reader) (err error) {
	if err := s.server.fail(Data, s.conn, s.mail.To); err != nil {
		return err
	}
	if s.mail.Data, err = io.ReadAll(r); err != nil {
		return err
	}
	header, _, _ := bytes.Cut(s.mail.Data, []byte("\r\n\r\n"))
	if !s.mail.UTF8 && bytes.ContainsFunc(header, func(r rune) bool { return r > '~' }) {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 7}, Message: "a header needs SMTPUTF8"}
	}
	s.server.mu.Lock()
	s.server.mails = append(s.server.mails, s.mail)
	s.server.mu.Unlock()
	return s.server.fail(Taken, s.conn, s.mail.To)
}

// Reset implements [smtp.Session].
func (s *session) Reset() { s.mail = Mail{} }

// Logout implements [smtp.Session].
func (s *session) Logout() error { return nil }
