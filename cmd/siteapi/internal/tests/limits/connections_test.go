package limits

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

const halfRequest = "POST /graphql HTTP/1.1\r\nHost: x\r\n" +
	"Content-Type: application/json\r\nContent-Length: 600\r\n\r\n{"

func statusOf(c net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0 // closed without a response
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// A client that sends its request slowly is disconnected soon after the time limit.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir())

	for name, tt := range map[string]struct {
		first, drip string
		limit       time.Duration
	}{
		"header":  {"GET /healthz HTTP/1.1\r\n", "X-Drop: 1\r\n", 5 * time.Second},
		"nothing": {"", "", 5 * time.Second},
		"body":    {halfRequest, " ", 15 * time.Second},
		"body, chunked": {
			strings.NewReplacer("Content-Length: 600", "Transfer-Encoding: chunked", "{", "").
				Replace(halfRequest),
			"1\r\n \r\n",
			15 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := apptest.DialAndSend(t, r, tt.first)

			go func() {
				for err := error(nil); err == nil && tt.drip != ""; _, err = io.WriteString(c, tt.drip) {
					time.Sleep(200 * time.Millisecond)
				}
			}()

			response, _ := io.ReadAll(c)
			if took := time.Since(began); took < tt.limit-time.Second || took > tt.limit+time.Minute {
				t.Errorf("the connection ended after %v, want about %v", took, tt.limit)
			}
			if strings.Contains(string(response), "HTTP/1.1 5") {
				t.Errorf("a slow client gets a 5xx: %s", response)
			}
		})
	}
}

// A request header has at most 32 KiB.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir())

	for size, want := range map[int]int{
		1 << 10:  200,
		48 << 10: 431,
	} {
		c := apptest.DialAndSend(t, r, "")
		go func() {
			_, _ = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n",
				strings.Repeat("x", size))
		}()

		if got := statusOf(c); got != want {
			t.Errorf("with %d bytes: got %d, want %d", size, got, want)
		}
	}
}
