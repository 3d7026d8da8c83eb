package limits

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// clientAt returns a client that connects from another address of this machine.
func clientAt(ip string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64},
	}
}

// Half-sent bodies do not block the requests of other clients, such as a chunked webhook
// of the CMS or a small GraphQL request.
func TestHalfSentBodies(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), apptest.DefaultLimits(t)...)
	address := strings.TrimPrefix(r.Base, "http://")

	for _, size := range []int{1, 70 << 10} {
		for i := range 20 { // each counts as 16 requests
			dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("127.0.1.%d", i/4+1))}}
			c, err := dialer.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })

			_, _ = fmt.Fprintf(c, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", size, strings.Repeat(" ", size))
		}

		for path, token := range map[string]string{"/api/webhooks/cms": "secret-of-the-webhook", "/graphql": ""} {
			body := `{"query":"{ cacheStats { success } }","_type":"post","padding":"` +
				strings.Repeat("x", 100<<10) + `"}`
			if token == "" {
				body = `{"query":"{ cacheStats { success } }"}`
			}

			request, err := http.NewRequest("POST", r.Base+path, io.MultiReader(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Authorization", "Bearer "+token)

			response, err := clientAt("127.0.0.9").Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != 200 {
				t.Errorf("during half-sent bodies of %d bytes, %s answers %d", size, path, response.StatusCode)
			}
		}
	}
}
