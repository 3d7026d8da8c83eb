package smtptest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/emersion/go-smtp"
)

// Step is a step of a conversation.
type Step string

// The steps, in their order. StartTLS is the TLS handshake, which fails without a code.
// Data and Taken both follow the text of the mail: Data is before the server stores the
// mail, Taken after it.
const (
	Greeting  Step = "greeting"
	Hello     Step = "EHLO"
	StartTLS  Step = "STARTTLS"
	Auth      Step = "AUTH"
	Sender    Step = "MAIL"
	Recipient Step = "RCPT"
	Data      Step = "DATA"
	Taken     Step = "after DATA"
)

// Mode is a way to fail.
type Mode string

// The ways to fail.
const (
	Later Mode = "4xx"
	Never Mode = "5xx"
	Hang  Mode = "hang"  // no response until the client disconnects
	Reset Mode = "reset" // the connection is reset
)

// Fault is an injected failure.
type Fault struct {
	Step  Step
	Mode  Mode
	To    string // only for this recipient; empty: for all
	Text  string // text of the response; empty: the server's own
	Times int    // 0: until Heal
}

// Fail adds faults.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &f)
	}
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// take returns the fault of a step and counts its use.
func (s *Server) take(step Step, to string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Step != step || f.To != "" && f.To != to {
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		f.Times--
		return *f, true
	}
	return Fault{}, false
}

// fail applies the fault of a step, if there is one, and returns the server's response.
func (s *Server) fail(step Step, conn net.Conn, to string) error {
	if f, ok := s.take(step, to); ok {
		return f.apply(conn, to)
	}
	return nil
}

// apply returns the response of the fault, or ends the connection.
func (f Fault) apply(conn net.Conn, to string) error {
	if code := map[Mode]int{Later: 451, Never: 550}[f.Mode]; code != 0 {
		text := cmp.Or(f.Text, fmt.Sprintf("%s fails for <%s>", f.Step, to))
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
	}
	if f.Mode == Hang {
		_, _ = io.Copy(io.Discard, conn) // ends when the connection does
	}
	reset(conn)
	return io.ErrUnexpectedEOF
}

func reset(conn net.Conn) {
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// faultyListener accepts connections, unless their greeting fails.
type faultyListener struct {
	net.Listener
	server *Server
}

// Accept implements [net.Listener].
func (l faultyListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		f, ok := l.server.take(Greeting, "")
		if !ok {
			return conn, nil
		}
		go func() {
			if failed, ok := errors.AsType[*smtp.SMTPError](f.apply(conn, "")); ok {
				_, _ = fmt.Fprintf(conn, "%d %s\r\n", failed.Code, failed.Message)
				_ = conn.Close()
			}
		}()
	}
}
