package smtp

import (
	"fmt"
	"net"
	"net/textproto"
)

// maxReply limits a reply in bytes, so that a server whose reply never ends does not fill the
// memory.
const maxReply = 400 << 10

// limited is a connection to a server that may send one reply after each write, and one
// before the first.
type limited struct {
	net.Conn
	reply int // bytes of the current reply
}

// Read implements [net.Conn]. It fails once a reply is longer than its limit.
func (c *limited) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.reply += n; c.reply > maxReply {
		return 0, textproto.ProtocolError(fmt.Sprintf("the reply has more than %d bytes", maxReply))
	}
	return n, err
}

// Write implements [net.Conn].
func (c *limited) Write(p []byte) (int, error) {
	c.reply = 0
	return c.Conn.Write(p)
}
