package smtptest

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"time"

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
	Slow  Mode = "slow"  // a late response, with success
)

// Fault is an injected failure.
type Fault struct {
	Step  Step
	Mode  Mode
	To    string // only for this recipient; empty: for all
	Text  string // text of the response; empty: the server's own
	Times int    // 0: until Heal

	For time.Duration // delay of a slow response; 0: a tenth of a second
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

// fail applies the fault of a step, and returns the server's response if the fault has
// one.
func (s *Server) fail(step Step, conn net.Conn, to string) error {
	f, ok := s.take(step, to)
	if !ok {
		return nil
	}
	code := map[Mode]int{Later: 451, Never: 550}[f.Mode]
	if f.Mode == Never && step == Auth {
		code = 535
	}
	if code != 0 {
		text := f.Text
		if text == "" {
			text = fmt.Sprintf("%s fails for <%s>", step, to)
		}
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
	}
	return misbehave(f, conn)
}

// misbehave hangs, resets the connection or waits.
func misbehave(f Fault, conn net.Conn) error {
	switch f.Mode {
	case Slow:
		time.Sleep(cmp.Or(f.For, 100*time.Millisecond))
		return nil
	case Hang:
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

		switch f.Mode {
		case Later:
			_, _ = io.WriteString(conn, "421 4.3.2 not now\r\n")
			_ = conn.Close()
		case Never:
			_, _ = io.WriteString(conn, "554 5.7.1 not you\r\n")
			_ = conn.Close()
		case Slow:
			return conn, misbehave(f, conn)
		default:
			go func() { _ = misbehave(f, conn) }()
		}
	}
}
