package valkeyserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Do sends one command over a connection of its own and returns the raw reply of
// RESP2. It is meant for looking at what a driver left behind.
func (s *Server) Do(args ...string) (string, error) {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := conn.Write(b.Bytes()); err != nil {
		return "", fmt.Errorf("sending %s: %w", args[0], err)
	}
	var reply strings.Builder
	if err := copyReply(&reply, bufio.NewReader(conn)); err != nil {
		return "", fmt.Errorf("reading the reply to %s: %w", args[0], err)
	}
	return reply.String(), nil
}

// copyReply copies one reply as it is.
func copyReply(to *strings.Builder, from *bufio.Reader) error {
	line, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	to.WriteString(line)
	if line[0] != '$' && line[0] != '*' {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 { // a negative length is a null
		return err
	}
	if line[0] == '$' {
		_, err = io.CopyN(to, from, int64(n)+2)
		return err
	}
	for range n {
		if err := copyReply(to, from); err != nil {
			return err
		}
	}
	return nil
}
