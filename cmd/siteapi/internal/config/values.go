package config

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // an image may have no time zones

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// The parsers below take a value that is not empty. Their errors say what the value must
// be, and never repeat one that may contain a password.

// into returns a function that parses a value and stores the result, unless it is wrong.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		parsed, err := parse(v)
		if err == nil {
			*to = parsed
		}
		return err
	}
}

func text(v string) (string, error) { return v, nil }

// values takes comma-separated values, of which there may be none.
func values(v string) ([]string, error) { return split(v), nil }

func list(v string) ([]string, error) {
	if len(split(v)) == 0 {
		return nil, errors.New("must hold a value: leave it out for none")
	}
	return split(v), nil
}

// documentTypes takes names without blanks: types that only a blank separates are one name,
// which no document has.
func documentTypes(v string) ([]string, error) {
	types, err := list(v)
	if i := slices.IndexFunc(types, func(t string) bool { return strings.ContainsAny(t, " \t\r\n") }); i >= 0 {
		return nil, fmt.Errorf("must be document types separated by commas: there is a blank in %q", types[i])
	}
	return types, err
}

// split cuts a comma-separated value and drops empty parts.
func split(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func oneOf(allowed ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !slices.Contains(allowed, v) {
			return v, fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
		}
		return v, nil
	}
}

// anyCase takes words in any letter case, as OpenTelemetry asks.
func anyCase(allowed ...string) func(string) (string, error) {
	return func(v string) (string, error) { return oneOf(allowed...)(strings.ToLower(v)) }
}

func onOff(v string) (bool, error) {
	_, err := oneOf("on", "off")(v)
	return v == "on", err
}

// matching accepts text that matches a regular expression; errors call it what.
func matching(form, what string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !regexp.MustCompile(`^(?:` + form + `)$`).MatchString(v) {
			return v, errors.New("must be " + what)
		}
		return v, nil
	}
}

func number(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, errors.New("must be a whole number from 1 to 1000000")
	}
	return n, nil
}

func logLevel(v string) (zerolog.Level, error) {
	v = strings.ToLower(v)
	if _, err := oneOf("trace", "debug", "info", "warn", "error")(v); err != nil {
		return 0, err
	}
	return zerolog.ParseLevel(v)
}

// durationMax is the longest duration that a setting may have. Much longer ones overflow.
const durationMax = 36500 * 24 * time.Hour

// Duration parses a duration in Go's notation, or in whole days such as 90d.
func Duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(max(-1, min(n, int64(durationMax/(24*time.Hour))+1))) * 24 * time.Hour
	}

	switch {
	case err != nil || d < 0:
		return 0, errors.New("must be a duration such as 30s, 10m, 12h or 90d")
	case d > durationMax:
		return 0, errors.New("must be at most 36500d")
	}
	return d, nil
}

func duration(least, most time.Duration) func(string) (time.Duration, error) {
	return func(v string) (time.Duration, error) {
		d, err := Duration(v)
		if err == nil && (d < least || d > most) {
			err = fmt.Errorf("must be between %s and %s", least, most)
		}
		return d, err
	}
}

// contentTTL accepts a second and more. With 0s content would never be refreshed, and with
// less than a second almost every read would fetch it from the CMS.
func contentTTL(v string) (time.Duration, error) {
	d, err := Duration(v)
	if err == nil && d < time.Second {
		err = errors.New("must be 1s at least")
	}
	return d, err
}

// leadRetention accepts 0s, or a day and more: visitors still fetch their PDF on the
// first day.
func leadRetention(v string) (time.Duration, error) {
	d, err := Duration(v)
	if d > 0 && d < 24*time.Hour {
		err = errors.New("must be 1d at least, or 0s: visitors still fetch their PDF on the first day")
	}
	return d, err
}

// deliveryRates parses a number of leads a second. It is the rate for the CMS and the CRM
// alike.
func (s *Settings) deliveryRates(v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1e6) {
		return errors.New("must be a number of leads a second, or 0")
	}

	s.CMSRate, s.CRMRate = n, n
	return nil
}

// operatorTokens parses comma-separated tokens of administrators.
func (s *Settings) operatorTokens(v string) error {
	for _, token := range split(v) {
		if err := s.addOperator(schema.TokenActor, schema.RoleAdmin, token); err != nil {
			return err
		}
	}
	return nil
}

// longTokens parses comma-separated tokens. In production they must be hard to guess.
func (s *Settings) longTokens(v string) ([]string, error) {
	tokens := split(v)
	short := slices.ContainsFunc(tokens, func(t string) bool { return len(t) < 16 })
	if short && s.Environment != Development {
		return nil, errors.New("opens drafts and is easy to guess: take 16 characters or more, " +
			"for instance from `openssl rand -hex 32`")
	}
	return tokens, nil
}

// namedTokens parses tokens with the names and roles of their holders: ana:sales:<token>.
func (s *Settings) namedTokens(v string) error {
	for _, entry := range split(v) {
		parts := strings.SplitN(entry, ":", 3)
		if len(parts) < 3 || !slugForm.MatchString(parts[0]) || !schema.Role(strings.ToUpper(parts[1])).IsValid() {
			return errors.New("must be entries such as ana:sales:<token>, comma-separated: a name of a-z, 0-9 and -, " +
				"one of viewer, sales and admin, and a token")
		}
		if err := s.addOperator(schema.TokenPrefix+parts[0], schema.Role(strings.ToUpper(parts[1])), parts[2]); err != nil {
			return err
		}
	}
	return nil
}

// slugForm is the form of a name in ADMIN_TOKENS.
var slugForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// addOperator adds a token of operators. In production it must be hard to guess.
func (s *Settings) addOperator(actor string, role schema.Role, token string) error {
	if len(token) < 16 && (token != DevAdminToken || actor != schema.TokenActor) && s.Environment != Development {
		return errors.New("opens personal data and is easy to guess: take 16 characters or more, " +
			"for instance from `openssl rand -hex 32`")
	}
	operator := schema.Operator{Actor: actor, Role: role}
	s.AdminTokens = append(s.AdminTokens, schema.OperatorToken{Token: token, Operator: operator})
	return nil
}

// locale parses a locale of the site.
func locale(v string) (schema.Locale, error) {
	l, ok := schema.ParseLocale(v)
	if !ok {
		return l, fmt.Errorf("must be one of %v", schema.Locales())
	}
	return l, nil
}

// timeZone parses the name of a time zone.
func timeZone(v string) (*time.Location, error) {
	zone, err := time.LoadLocation(v)
	if err != nil || v == "" || v == "Local" {
		return nil, errors.New("must be the name of a time zone, such as Europe/Bucharest")
	}
	return zone, nil
}

// existing accepts the path of a file or folder that can be read.
func existing(v string) (string, error) {
	f, err := os.Open(v)
	if err != nil {
		return v, fmt.Errorf("must be the path of something that can be read: %w", err)
	}
	return v, f.Close()
}

func listenAddress(v string) (string, error) {
	_, port, err := net.SplitHostPort(v)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return v, errors.New("must be host:port or :port, with a port from 0 to 65535")
	}
	return v, nil
}

func adminAddress(v string) (string, error) {
	if v == "off" {
		return "", nil
	}
	return listenAddress(v)
}

// WebAddress checks an absolute address of a web server. A password would not be sent, or
// be shown in links.
func WebAddress(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		!validHost(u) || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address such as https://example.com")
	}
	if u.User != nil {
		return errors.New("must have no user name or password")
	}
	return nil
}

// addressWithQuery checks an address as WebAddress does, but it may have a query, which is
// sent as it is written.
func addressWithQuery(value string) error {
	base, query, _ := strings.Cut(value, "?")
	if err := WebAddress(base); err != nil {
		return err
	}

	outside := func(r rune) bool { return r <= ' ' || r > '~' }
	if _, err := url.Parse(value); err != nil || strings.Contains(value, "#") ||
		strings.ContainsFunc(query, outside) {
		return errors.New("must have no fragment, and no spaces or letters outside ASCII in its query: " +
			"encode them as in %20")
	}
	return nil
}

func validHost(u *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "1"), 10, 16)
	return u.Hostname() != "" && !strings.HasSuffix(u.Host, ":") && err == nil && port > 0
}

func webAddress(v string) (string, error) { return strings.TrimSuffix(v, "/"), WebAddress(v) }

// leadWebhookURL parses a web address that may have a query, where some services expect a
// signature. Plain HTTP is accepted in development and for private IP addresses only.
func (s *Settings) leadWebhookURL(v string) (string, error) {
	if err := addressWithQuery(v); err != nil {
		return v, err
	}
	u, err := url.Parse(v)
	if err != nil {
		return v, err
	}

	ip, _ := netip.ParseAddr(u.Hostname()) // a host name does not count as a private address
	if u.Scheme != "https" && s.Environment != Development && !ip.IsPrivate() && !ip.IsLoopback() {
		return v, errors.New("must begin with https://: it is sent names and e-mail addresses")
	}

	return v, nil
}

// webhookSecrets parses comma-separated secrets in the form of Standard Webhooks.
func webhookSecrets(v string) ([]string, error) {
	for _, secret := range split(v) {
		encoded, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64, " +
				"as `echo whsec_$(openssl rand -base64 32)` makes one")
		}
	}
	return split(v), nil
}

// sender takes an address with or without a name.
func sender(v string) (mail.Address, error) {
	a, err := mail.ParseAddress(v)
	if err == nil {
		err = reachable(a.Address)
	}
	if err != nil {
		return mail.Address{}, errors.New("must be an address such as quotes@example.com " +
			"or Lumen Studio <quotes@example.com>, in ASCII but for the name")
	}
	return *a, nil
}

// salesMax bounds the recipients of one delivery, which get their mails at the same time.
const salesMax = 10

// recipients takes comma-separated addresses.
func recipients(v string) ([]string, error) {
	list, err := mail.ParseAddressList(v)
	if err != nil || len(list) > salesMax {
		return nil, fmt.Errorf("must be 1 to %d addresses such as sales@example.com, separated by commas", salesMax)
	}
	var bare []string
	for _, a := range list {
		if reachable(a.Address) != nil {
			return nil, errors.New("must be addresses with a domain, in ASCII")
		}
		if !slices.Contains(bare, a.Address) {
			bare = append(bare, a.Address)
		}
	}
	return bare, nil
}

// reachable checks that an address is one that every mail server takes.
func reachable(address string) error {
	local, domain, _ := strings.Cut(address, "@")
	if local == "" || domain == "" || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("is not in ASCII")
	}
	return nil
}

// databaseURL parses the address of a PostgreSQL database. It replaces the library's
// error, which would repeat the address.
func databaseURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err == nil {
		_, err = pgxpool.ParseConfig(v)
	}

	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" ||
		u.Host == "" && u.Query().Get("host") == "" {
		return nil, errors.New("must be an address such as postgres://user:password@host:5432/database, " +
			"with parameters that PostgreSQL has")
	}
	return u, nil
}

func cacheURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err == nil && u.Scheme == "memory" {
		return u, nil
	}

	if err == nil && slices.Contains([]string{"valkey", "valkeys", "redis", "rediss"}, u.Scheme) &&
		validHost(u) {
		if _, err = strconv.ParseUint(cmp.Or(strings.TrimPrefix(u.Path, "/"), "0"), 10, 31); err == nil {
			return u, nil
		}
	}

	return &url.URL{}, errors.New("must be memory://, or an address such as " +
		"valkey://user:password@host:6379/0 (or valkeys://, redis://, rediss://), " +
		"with a number as the database")
}

// origins parses origins in the form in which browsers send them, or *.
func origins(v string) ([]string, error) {
	usual := map[string]string{"http": "80", "https": "443"}

	for _, o := range split(v) {
		u, err := url.Parse(o)
		if o != "*" && (err != nil || WebAddress(o) != nil ||
			strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyz0123456789.-_[]:") != "" ||
			o != u.Scheme+"://"+u.Host || u.Port() == usual[u.Scheme]) {
			return nil, fmt.Errorf("%q is not an origin as browsers send it: scheme and host in lower case, "+
				"and a port only where it is unusual, such as https://example.com", o)
		}
	}
	return split(v), nil
}

func networks(v string) (all []netip.Prefix, err error) {
	for _, item := range split(v) {
		prefix, err := netip.ParsePrefix(item)
		if addr, notAddr := netip.ParseAddr(item); notAddr == nil {
			prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
		}

		// No address matches an IPv4 network that is written as IPv6.
		if err != nil || prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", item)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// logoHosts parses the hosts from which a logo may be fetched.
func logoHosts(v string) ([]string, error) {
	_, err := upstream.ParseAllowedHosts(split(v))
	return split(v), err
}
