package harness

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
)

// Endless is a server whose responses never end.
type Endless struct {
	Address string
	Longest atomic.Int64 // bytes of the longest response
}

// NewEndless returns a server that writes the opening and then repeats a part, until the
// client closes the connection or ctx ends. With listens it reads a request first.
func NewEndless(ctx context.Context, listens bool, opening, part string) *Endless {
	listener := Must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	s := &Endless{Address: listener.Addr().String()}

	block := strings.Repeat(part, 1+(16<<10)/len(part))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(ctx, conn, listens, opening, block)
		}
	}()
	return s
}

func (s *Endless) serve(ctx context.Context, conn net.Conn, listens bool, opening, block string) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()

	var err error
	if listens {
		_, err = conn.Read(make([]byte, 64<<10))
	}
	for sent, text := int64(0), opening; err == nil; text = block {
		var n int
		n, err = conn.Write([]byte(text))
		sent += int64(n)
		for longest := s.Longest.Load(); sent > longest && !s.Longest.CompareAndSwap(longest, sent); {
			longest = s.Longest.Load()
		}
	}
}
