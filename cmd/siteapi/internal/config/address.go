package config

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"siteapi/integrations/upstream"
)

// exactAddress accepts an absolute address unchanged. It rejects a user name and password,
// which would not be sent, or would be shown in links.
func exactAddress(v string) (string, error) {
	return matching(`https?://[^\s/?#@]+(/[^\s?#]*)?`,
		"an address such as https://example.com, without a user name, password or query")(v)
}

// WebAddress parses an address, and returns it without a trailing slash or a default port.
func WebAddress(v string) (string, error) {
	return exactAddress(withoutDefaultPort(strings.TrimSuffix(v, "/")))
}

func origin(v string) (string, error) {
	return matching(`\*|https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[1-9]\d{0,4})?`,
		"origins as browsers send them: scheme and host in lower case, such as https://example.com",
	)(withoutDefaultPort(v))
}

// withoutDefaultPort removes the port that browsers omit.
func withoutDefaultPort(v string) string {
	return regexp.MustCompile(`^(?:(https://[^/]*):443|(http://[^/]*):80)(/|$)`).ReplaceAllString(v, "$1$2$3")
}

// addressWithQuery accepts an address with an optional query, which is sent unchanged.
func addressWithQuery(v string) (string, error) {
	return matching(`https?://[^\s/?#@]+(/[^\s?#]*)?(\?[!-"$-~]*)?`,
		"an address such as https://example.com/path, without a user name, password or fragment, "+
			"and with spaces and letters outside ASCII in the query encoded as in %20")(v)
}

// leadWebhook accepts an address with an optional query, in which some services expect a
// signature. Plain HTTP is accepted only in development and for private IP addresses.
func (s *Settings) leadWebhook(v string) (string, error) {
	if _, err := addressWithQuery(v); err != nil {
		return v, err
	}
	u, err := url.Parse(v)
	if err != nil {
		return v, errors.New("must be a valid address")
	}

	ip, _ := netip.ParseAddr(u.Hostname()) // host names do not count as private
	if u.Scheme != "https" && s.Environment != Development && !ip.IsPrivate() &&
		!upstream.IsLocal(u.Hostname()) {
		return v, errors.New("must begin with https://: it receives names and e-mail addresses")
	}
	return v, nil
}

// shownAddresses returns a value without the user information, query and fragment of the
// addresses in it, which may be secret.
func shownAddresses(value string) string {
	parts := strings.Split(value, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.Scheme != "" && u.Host != "" {
			u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
			parts[i] = u.String()
		}
	}
	return strings.Join(parts, ",")
}
