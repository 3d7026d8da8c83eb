package content

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
)

// A guarded route checks the token before it reads the body: a client without a token is
// rejected before any byte of its body arrives.
func TestTokenBeforeBody(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "CMS_WEBHOOK_SIGNING_SECRET=sign")

	for _, path := range []string{"/api/webhooks/cms", "/api/cache/invalidate"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.Base, "http://"))
		must(t, err)

		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n"+
			"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", path)

		response := make([]byte, 12)
		if _, err := c.Read(response); err != nil || string(response) != "HTTP/1.1 401" {
			t.Errorf("%s: %q %v", path, response, err)
		}
		_ = c.Close()
	}
}
