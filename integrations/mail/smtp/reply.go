package smtp

import (
	"bytes"
	"fmt"
	"net"
	"net/textproto"
)

// Limits of a reply, so that a server whose reply never ends does not fill the memory.
const (
	maxReplyLines = 100
	maxReplyLine  = 4 << 10 // bytes on average
)

// handshake is the first byte of a TLS handshake. No SMTP command begins with it.
const handshake = 0x16

// limited is a connection to a server that may send one reply after each write, and one
// before the first. Under TLS it counts only bytes, since the lines are encrypted.
type limited struct {
	net.Conn
	lines, bytes int // the size of the current reply
	encrypted    bool
}

// Read implements [net.Conn]. It fails once a reply is longer than its limits.
func (c *limited) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes += n
	if !c.encrypted {
		c.lines += bytes.Count(p[:n], []byte("\n"))
	}
	if c.lines > maxReplyLines || c.bytes > maxReplyLines*maxReplyLine {
		return 0, textproto.ProtocolError(fmt.Sprintf(
			"the reply has more than %d lines, or %d bytes", maxReplyLines, maxReplyLines*maxReplyLine))
	}
	return n, err
}

// Write implements [net.Conn].
func (c *limited) Write(p []byte) (int, error) {
	c.lines, c.bytes = 0, 0
	c.encrypted = c.encrypted || len(p) > 0 && p[0] == handshake
	return c.Conn.Write(p)
}
