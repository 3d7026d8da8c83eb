package smtptest

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Step is a step of a conversation.
type Step string

// The steps, in their order. Data is the end of the mail's text before the mail is kept, Taken the one after it.
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
	Hang  Mode = "hang"  // no answer until the client is gone
	Reset Mode = "reset" // the connection is reset
	Slow  Mode = "slow"  // a late answer, of success
)

// SlowBy is how late a slow server answers.
const SlowBy = 100 * time.Millisecond

// Fault is an injected failure.
type Fault struct {
	Step  Step
	Mode  Mode
	To    string // only for this recipient; empty: for all
	Text  string // of the answer; empty: the server's own words
	Times int    // 0: until it is taken back
}

// Fail adds faults to those that the server has.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &f)
	}
}

// Heal takes back all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// due returns the fault of a step, which it counts.
func (s *Server) due(step Step, to string) (Fault, bool) {
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

// fail makes the fault of a step happen, and returns the server's answer if that is the fault.
func (s *Server) fail(step Step, conn net.Conn, to string) error {
	f, ok := s.due(step, to)
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
	return misbehave(f.Mode, conn)
}

// misbehave hangs, resets the connection or waits.
func misbehave(mode Mode, conn net.Conn) error {
	switch mode {
	case Slow:
		time.Sleep(SlowBy)
		return nil
	case Hang:
		_, _ = io.Copy(io.Discard, conn) // ends with the connection
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

// faultyListener accepts connections that fail at the steps before the server's own session begins.
type faultyListener struct {
	net.Listener
	server *Server
}

// Accept implements [net.Listener].
func (l faultyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &faultyConn{Conn: conn, server: l.server, step: Greeting}, nil
}

// faultyConn is a connection whose first answers may fail.
type faultyConn struct {
	net.Conn
	server *Server

	mu    sync.Mutex
	step  Step // of the next answer; empty: one that does not fail here
	muted bool // drops the rest of an answer that was replaced
}

// NetConn returns the connection below.
func (c *faultyConn) NetConn() net.Conn { return c.Conn }

// Read notes which command the client sends.
func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.muted = false
	switch word, _, _ := bytes.Cut(p[:n], []byte(" ")); strings.ToUpper(strings.TrimSpace(string(word))) {
	case "EHLO", "HELO":
		c.step = Hello
	case "STARTTLS":
		c.step = StartTLS
	default:
		c.step = ""
	}
	return n, err
}

// Write answers, or fails.
func (c *faultyConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	step := c.step
	c.step = ""
	if c.muted {
		return len(p), nil
	}
	f, ok := c.server.due(step, "")
	if !ok {
		return c.Conn.Write(p)
	}
	c.muted = f.Mode == Later || f.Mode == Never
	switch f.Mode {
	case Later:
		_, err := c.Conn.Write([]byte("421 4.3.2 not now\r\n"))
		return len(p), err
	case Never:
		_, err := c.Conn.Write([]byte("554 5.7.1 not you\r\n"))
		return len(p), err
	}
	if err := misbehave(f.Mode, c.Conn); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func encodePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
