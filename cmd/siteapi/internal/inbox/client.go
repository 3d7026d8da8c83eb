package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"siteapi/integrations/upstream"
)

const (
	maxDocument  = 5 << 10 // bytes
	documentTime = 5 * time.Second
	documentLife = 24 * time.Hour // in the cache, at most
	maxName      = 60             // characters
	maxClients   = 100            // in the cache
)

// client is the metadata document that identifies an assistant. Its address is the client_id.
type client struct {
	ID           string   `json:"client_id"`
	Name         string   `json:"client_name"`
	RedirectURIs []string `json:"redirect_uris"`
	AuthMethod   string   `json:"token_endpoint_auth_method"`
}

// knownClient is a client in the cache.
type knownClient struct {
	client
	until time.Time
}

// host returns the host of the document's address, which is all that is known of the client:
// it chooses its name.
func (c client) host() string {
	u, _ := url.Parse(c.ID) // it was fetched
	return u.Host
}

// label names the client to operators.
func (c client) label() string { return c.Name + " (" + c.host() + ")" }

// clientOf returns the client with an id, from the cache or from its address.
func (s *SignIn) clientOf(ctx context.Context, id string) (client, error) {
	if known, ok := s.clients.GetIfPresent(id); ok && time.Now().Before(known.until) {
		return known.client, nil
	}

	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" ||
		len(u.Path) < 2 {
		return client{}, errors.New("client_id is not the https address of a metadata document")
	}
	hosts, err := upstream.ParseAllowedHosts(s.MCPClients)
	if err == nil && len(s.MCPClients) > 0 {
		err = hosts.Check(u)
	}
	if err != nil {
		return client{}, fmt.Errorf("MCP_CLIENTS: %w", err)
	}

	// A host that the settings name may be private. Of others, none may be.
	options := upstream.Options{
		System:  "assistant",
		BaseURL: u.Scheme + "://" + u.Host,
		Timeout: documentTime,
		MaxBody: maxDocument,
	}
	if len(s.MCPClients) == 0 {
		options.Transport = hosts.Transport()
	}
	resp, err := upstream.New(options).Do(ctx, upstream.Request{
		Op:   "reading the metadata document",
		Path: u.EscapedPath() + queryOf(u),
	})
	if err != nil {
		return client{}, err
	}

	var c client
	if resp.Status != http.StatusOK || resp.Decode(&c) != nil || c.ID != id || len(c.RedirectURIs) == 0 ||
		c.AuthMethod != "" && c.AuthMethod != "none" {
		return client{},
			errors.New("the metadata document is not one of a client without a secret with this client_id")
	}
	c.Name = cmp.Or(shownName(c.Name), u.Host)
	if life := min(maxAge(resp.Header), documentLife); life > 0 {
		s.clients.Set(id, knownClient{c, time.Now().Add(life)})
	}
	return c, nil
}

// shownName returns the beginning of a name without characters that are not shown.
func shownName(name string) string {
	shown := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, name))
	return strings.TrimSpace(string(shown[:min(len(shown), maxName)]))
}

func queryOf(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// maxAge returns the max-age of a response, or 0 if it must not be stored.
func maxAge(h http.Header) time.Duration {
	control := strings.ToLower(strings.Join(h["Cache-Control"], ","))
	found := regexp.MustCompile(`(?:^|[\s,])max-age="?(\d{1,9})`).FindStringSubmatch(control)
	if found == nil || strings.Contains(control, "no-store") || strings.Contains(control, "no-cache") {
		return 0
	}
	seconds, _ := strconv.Atoi(found[1]) // at most nine digits
	return time.Duration(seconds) * time.Second
}

// redirects reports whether a client may be redirected to an address. The document must list
// it, except for the port on this machine (RFC 8252, section 7.3).
func (c client) redirects(to string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(listed string) bool {
		a, errA := url.Parse(listed)
		b, errB := url.Parse(to)
		if errA != nil || errB != nil || b.Fragment != "" || b.User != nil {
			return false
		}

		switch a.Scheme {
		case "http":
			if !upstream.IsLocal(a.Hostname()) || a.Hostname() != b.Hostname() {
				return false
			}
			a.Host, b.Host = "", ""
			return *a == *b
		case "https":
			return a.Host != "" && listed == to
		default: // the scheme of a program
			return !slices.Contains(browserSchemes(), a.Scheme) && listed == to
		}
	})
}

// browserSchemes are the schemes that a browser itself interprets.
func browserSchemes() []string {
	return []string{
		"", "javascript", "data", "file", "blob", "filesystem", "about", "vbscript", "view-source",
		"ftp", "ws", "wss",
	}
}

// formTarget returns the source in a content policy that allows a form to lead to an address.
func formTarget(u *url.URL) string {
	if u.Scheme != "http" && u.Scheme != "https" ||
		strings.Contains(u.Hostname(), ":") { // policies have no IPv6
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}
