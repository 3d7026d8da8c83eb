package limits_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"siteapi/cmd/internal/harness"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/crm/hubspot"
	"siteapi/integrations/edge"
	"siteapi/integrations/leadwebhook"
	"siteapi/integrations/mail/smtp"
	"siteapi/integrations/pdf"
	"siteapi/integrations/turnstile"
	"siteapi/integrations/valkeyconn"
)

// A server whose response never ends takes little memory of the service: every kind of
// response has a limit. What the operating systems buffer is sent besides.
func TestServersThatNeverEnd(t *testing.T) {
	t.Parallel()
	const kilobyte, buffered = 1 << 10, 16 << 20
	first := func(_ any, err error) error { return err }
	calls := map[string]struct {
		limit int64 // bytes of a response; a header has at most 64 KB
		call  func(ctx context.Context, address string) error
	}{
		"Sanity": {32 << 20, func(ctx context.Context, address string) error {
			return sanity.New(sanity.Options{ProjectID: "p", Dataset: "d", APIVersion: "2026-01-01", APIURL: "http://" + address}).Ping(ctx)
		}},
		"HubSpot": {1 << 20, func(ctx context.Context, address string) error {
			return hubspot.New(hubspot.Options{Token: "t", Version: "v3", BaseURL: "http://" + address}).Ping(ctx)
		}},
		"lead webhook": {64 * kilobyte, func(ctx context.Context, address string) error {
			w, err := leadwebhook.New(leadwebhook.Options{URL: "http://" + address})
			if err != nil {
				return err
			}
			return w.Announce(ctx, 1, leadwebhook.Announcement{})
		}},
		"CDN": {64 * kilobyte, func(ctx context.Context, address string) error {
			varnish, _ := edge.Find("varnish")
			p, err := edge.NewPurger(varnish, "t", edge.Options{URL: "http://" + address})
			if err != nil {
				return err
			}
			return p.Purge(ctx, []string{"content:locale:en"})
		}},
		"renderer": {64 * kilobyte, func(ctx context.Context, address string) error {
			n, err := edge.NewNotifier(nil, edge.Options{URL: "http://" + address})
			if err != nil {
				return err
			}
			return n.Notify(ctx, []string{"content:locale:en"})
		}},
		"Turnstile": {64 * kilobyte, func(ctx context.Context, address string) error {
			return first(turnstile.New(turnstile.Options{Secret: "s", URL: "http://" + address}).Verify(ctx, "token", "1"))
		}},
		"logo": {1 << 20, func(ctx context.Context, address string) error {
			l, err := pdf.NewLogoLoader([]string{"http://" + address})
			if err != nil {
				return err
			}
			return first(l.Load(ctx, "http://"+address+"/logo.png"))
		}},
		"identity provider": {1 << 20, func(ctx context.Context, address string) error {
			return first(inbox.Discover(ctx, &config.Settings{OIDCIssuer: "http://" + address}))
		}},
	}
	for name, c := range calls {
		for part, opening := range map[string]string{
			"x-more: header\r\n": "HTTP/1.1 200 OK\r\n",
			"body ":              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[",
		} {
			t.Run(name+" "+part[:4], func(t *testing.T) {
				t.Parallel()
				server := harness.NewEndless(t.Context(), true, opening, part)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_ = c.call(ctx, server.Address) // an accepted webhook needs no body
				if sent := server.Longest.Load(); sent == 0 || sent > c.limit+buffered || ctx.Err() != nil {
					t.Errorf("the service read some %d bytes; %v", sent, ctx.Err())
				}
			})
		}
	}

	for name, reply := range map[string]struct{ opening, part string }{
		"endless lines":    {"220-hello\r\n", "220-more\r\n"},
		"one endless line": {"220 hello", " more"},
		"no line at all":   {"\x00", "\x00"},
	} {
		t.Run("SMTP "+name, func(t *testing.T) {
			t.Parallel()
			server := harness.NewEndless(t.Context(), false, reply.opening, reply.part)
			u := &url.URL{Scheme: "smtp", Host: server.Address}
			_, err := smtp.New(smtp.Options{URL: u, From: "quotes@lumen.test"}).Check(t.Context())
			if sent := server.Longest.Load(); err == nil || sent > 400*kilobyte+buffered {
				t.Errorf("the service read some %d bytes: %v", sent, err)
			}
		})
	}

	// The client of Valkey has no limit of a reply, but a connection without a reply to a
	// ping ends within a second.
	t.Run("Valkey", func(t *testing.T) {
		t.Parallel()
		server := harness.NewEndless(t.Context(), true, "+", "more")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		address := url.URL{Scheme: "valkey", Host: server.Address}
		conn, err := valkeyconn.Open(ctx, address.String(), func(bool, error) {})
		if err == nil {
			_, err = conn.Client()
			conn.Close()
		}
		if err == nil || ctx.Err() != nil {
			t.Errorf("the server is in use: %v, %v", err, ctx.Err())
		}
	})
}
