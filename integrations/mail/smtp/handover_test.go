package smtp_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/smtp/smtptest"
	"siteapi/integrations/upstream"
)

// hurried is a connection whose time limits are fifty times shorter.
type hurried struct{ net.Conn }

const hurry = 50

func (c hurried) SetDeadline(t time.Time) error {
	return c.Conn.SetDeadline(time.Now().Add(time.Until(t) / hurry))
}

// scripted is a mail server that answers the commands in replies as they say, and every
// other one with success. An empty reply closes the connection.
type scripted struct {
	replies map[string]string // by command or recipient; "." is the end of the data
	after   time.Duration     // delay of the response to the end of the data
	reset   bool              // the connection is reset instead of closed
	dots    atomic.Int32      // mails whose end the server has seen

	mu    sync.Mutex
	lines []string
}

// seen returns the commands that contain a string.
func (s *scripted) seen(text string) (commands []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if command, _, _ := strings.Cut(line, " "); strings.Contains(line, text) {
			commands = append(commands, command)
		}
	}
	return commands
}

// replying returns a server that answers one command in another way.
func replying(command, reply string) *scripted {
	return &scripted{replies: map[string]string{command: reply}}
}

func (s *scripted) serve(conn *net.TCPConn) {
	defer func() { _ = conn.Close() }()
	if s.reset {
		_ = conn.SetLinger(0)
	}
	normal := map[string]string{"DATA": "354 go ahead", ".": "250 2.0.0 queued", "EHLO": "250 ready", "QUIT": "221 bye"}
	write := func(command string) bool {
		reply, special := s.replies[command]
		if !special {
			if reply = normal[command]; reply == "" {
				reply = "250 ok"
			}
		}
		_, err := conn.Write([]byte(strings.ReplaceAll(reply, "\n", "\r\n")))
		if err == nil && reply != "" && !strings.HasSuffix(reply, "…") {
			_, err = conn.Write([]byte("\r\n"))
		}
		return err == nil && reply != "" && !strings.HasSuffix(reply, "…")
	}

	_, _ = conn.Write([]byte("220 scripted\r\n"))
	data := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		command, _, _ := strings.Cut(line, " ")
		switch {
		case data && line != ".":
			continue
		case data:
			s.dots.Add(1)
			time.Sleep(s.after)
		}
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		for recipient := range s.replies {
			if strings.Contains(line, "<"+recipient+">") {
				command = recipient
			}
		}
		if !write(command) {
			return
		}
		data = command == "DATA" && s.replies["DATA"] == ""
	}
}

func (s *scripted) start(t *testing.T) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn.(*net.TCPConn)) //nolint:forcetypeassert // of a TCP listener
		}
	}()
	return listener.Addr().String()
}

// The response to the end of the data decides what became of a mail (RFC 5321, 4.2.1 and
// 4.2.5): with 2yz the server has it, with 4yz and 5yz it has not. Anything else leaves it
// open: the mail may have arrived. RFC 5321, 4.5.3.2.6 lets servers scan before they answer.
func TestFateOfAMail(t *testing.T) {
	t.Parallel()
	const second = time.Second / hurry
	const accepted, later, never = upstream.Kind(""), upstream.Unavailable, upstream.Rejected
	for name, c := range map[string]struct {
		server *scripted
		kind   upstream.Kind
		open   bool // whether the mail may have arrived
		dots   int32
	}{
		"accepted":               {&scripted{}, accepted, false, 1},
		"accepted in two lines":  {replying(".", "250-2.0.0 thanks\n250 queued"), accepted, false, 1},
		"scans for 25 s":         {&scripted{after: 25 * second}, accepted, false, 1},
		"scans for 90 s":         {&scripted{after: 90 * second}, accepted, false, 1},
		"scans for 150 s":        {&scripted{after: 150 * second}, later, true, 1},
		"graylisted":             {replying(".", "451 4.7.1 try again"), later, false, 1},
		"shuts down":             {replying(".", "421 4.3.2 shutting down"), later, false, 1},
		"disk full":              {replying(".", "452 4.3.1 no space"), later, false, 1},
		"spam":                   {replying(".", "554 5.7.1 spam"), never, false, 1},
		"too large":              {replying(".", "552 5.3.4 too large"), never, false, 1},
		"3yz makes no sense":     {replying(".", "354 go on"), later, true, 1},
		"251 is for forwarding":  {replying(".", "251 forwarded"), later, true, 1},
		"not SMTP":               {replying(".", "queued as 4711"), later, true, 1},
		"closes after the dot":   {replying(".", ""), later, true, 1},
		"resets after the dot":   {&scripted{replies: map[string]string{".": ""}, reset: true}, later, true, 1},
		"half a response":        {replying(".", "25…"), later, true, 1},
		"DATA is refused":        {replying("DATA", "451 4.3.0 not now"), later, false, 0},
		"DATA is never accepted": {replying("DATA", "554 5.5.1 no"), never, false, 0},
		"closes before the data": {replying("DATA", ""), later, false, 0},
		"recipient later":        {replying("RCPT", "450 4.2.1 busy"), later, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := scriptedSender(t, c.server)
			m, handedOver := message("ana@client.test"), false
			m.HandOver = func() error {
				handedOver = true
				if c.server.dots.Load() > 0 {
					t.Error("the mail was handed over before that was recorded")
				}
				return nil
			}
			err := sender.Send(t.Context(), m)
			if kindOf(err) != c.kind || errors.Is(err, lead.ErrUnconfirmed) != c.open {
				t.Errorf("the error is %v, want kind %q, unconfirmed: %v", err, c.kind, c.open)
			}
			if dots := c.server.dots.Load(); dots != c.dots || c.dots > 0 && !handedOver {
				t.Errorf("the server has %d mails, want %d; handed over: %v", dots, c.dots, handedOver)
			}
		})
	}
}

// A mail is not sent if the time for commands ends first. A canceled attempt leaves its
// fate open only after the data.
func TestCanceledMail(t *testing.T) {
	t.Parallel()
	server := start(t, smtptest.Options{})
	m := message("ana@client.test")
	ctx, cancel := context.WithCancel(t.Context())
	m.HandOver = func() error { cancel(); return nil }
	err := open(t, server, "smtp://localhost").Send(ctx, m)
	if !errors.Is(err, context.Canceled) || errors.Is(err, lead.ErrUnconfirmed) || len(server.Mails()) > 0 {
		t.Errorf("canceled before the data, the error is %v, and the server has %d mails", err, len(server.Mails()))
	}

	server.Fail(smtptest.Fault{Step: smtptest.Taken, Mode: smtptest.Hang})
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	m.HandOver = nil
	if err := open(t, server, "smtp://localhost").Send(ctx, m); !errors.Is(err, lead.ErrUnconfirmed) {
		t.Errorf("canceled after the data, the error is %v", err)
	}
}

// A header with letters outside ASCII needs SMTPUTF8 (RFC 6532). Without it a mail goes
// without its Reply-To, and a recipient with such letters is rejected. A domain is sent in
// ASCII, and a name as an encoded word (RFC 2047), which every server accepts.
func TestNonASCIIHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to, replyTo, from, subject string
		utf8                       bool   // the server has SMTPUTF8
		asked                      bool   // it is asked for
		rcpt                       string // the recipient that the server gets, if it is not to
		reply                      string // Reply-To of the mail that arrives
		rejected                   bool
	}{
		"ASCII":                       {to: "ana@client.test", replyTo: "bo@client.test", utf8: true, reply: "bo@client.test"},
		"quoted local part":           {to: "ana@client.test", replyTo: `"bo x"@client.test`, utf8: true, reply: "bo x@client.test"},
		"Reply-To of a German":        {to: "ana@client.test", replyTo: "jürgen@client.test", utf8: true, asked: true, reply: "jürgen@client.test"},
		"Reply-To of a Chinese":       {to: "ana@client.test", replyTo: "用户@client.test", utf8: true, asked: true, reply: "用户@client.test"},
		"Reply-To without SMTPUTF8":   {to: "ana@client.test", replyTo: "jürgen@client.test"},
		"combining marks":             {to: "ana@client.test", replyTo: "ju\u0308rgen@client.test"},
		"Reply-To with an IDN":        {to: "ana@client.test", replyTo: "bo@bücher.test", reply: "bo@xn--bcher-kva.test"},
		"both parts":                  {to: "ana@client.test", replyTo: "jürgen@bücher.test", utf8: true, asked: true, reply: "jürgen@xn--bcher-kva.test"},
		"recipient":                   {to: "ștefania@client.test", utf8: true, asked: true},
		"recipient without SMTPUTF8":  {to: "ștefania@client.test", replyTo: "jürgen@client.test", rejected: true},
		"recipient with an IDN":       {to: "ana@bücher.test", rcpt: "ana@xn--bcher-kva.test", replyTo: "bo@client.test", reply: "bo@client.test"},
		"recipient in quotes":         {to: `"ana pop"@client.test`, rcpt: "ana pop@client.test"}, // the server removes them
		"recipient with signs":        {to: "o'brien+x@client.test"},
		"recipient as two":            {to: "ana@client.test>,<b@c.de", rejected: true},
		"name and subject":            {to: "ana@client.test", from: "Ștefania Țurcanu", subject: "Nouă cerere: Јован · 用户", utf8: true},
		"an address that is no reply": {to: "ana@client.test", replyTo: "not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, smtptest.Options{UTF8: c.utf8})
			m := message(c.to)
			m.ReplyTo, m.From.Name = c.replyTo, c.from
			if c.subject != "" {
				m.Subject = c.subject
			}
			err := open(t, server, "smtp://localhost").Send(t.Context(), m)
			if c.rejected {
				if kindOf(err) != upstream.Rejected || len(server.Mails()) > 0 {
					t.Errorf("the error is %v, and the server has %d mails", err, len(server.Mails()))
				}
				return
			}
			if err != nil || len(server.Mails()) != 1 {
				t.Fatalf("the error is %v, and the server has %d mails", err, len(server.Mails()))
			}
			if got := server.Mails()[0]; got.UTF8 != c.asked || got.To != cmp.Or(c.rcpt, c.to) {
				t.Errorf("SMTPUTF8 was asked for: %v, the recipient is %s", got.UTF8, got.To)
			}
			sent, err := mail.ReadMessage(bytes.NewReader(server.Mails()[0].Data))
			must(t, err)
			reply := ""
			if list, err := sent.Header.AddressList("Reply-To"); err == nil {
				reply = list[0].Address
			}
			if reply != c.reply || m.ReplyTo != c.replyTo {
				t.Errorf("the reply goes to %q, want %q; the message now has %q", reply, c.reply, m.ReplyTo)
			}
		})
	}
}
