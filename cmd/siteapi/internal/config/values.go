package config

import (
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
	_ "time/tzdata" // Images may lack time zones.

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/edge"
	"siteapi/integrations/mail/smtp"
	"siteapi/integrations/upstream"
	"siteapi/schema"
	"siteapi/schema/request"
)

// parsers returns the parsers by their names in the tags of [Settings], or by the types
// of its fields. Values are not empty. Errors describe valid values, and never contain a
// password.
func (s *Settings) parsers() map[string]any {
	webhookSecret := matching(`whsec_[A-Za-z0-9+/]{32,86}={0,2}`,
		"whsec_ and 24 to 64 bytes in base64, for instance from `echo whsec_$(openssl rand -base64 32)`")

	return map[string]any{
		"string":                  text,
		"[]string":                tokens,
		"bool":                    onOff,
		"int":                     number,
		"time.Duration":           Duration,
		"zerolog.Level":           logLevel,
		"mail.Address":            sender,
		"schema.Locale":           locale,
		"*time.Location":          timeZone,
		"[]netip.Prefix":          each(network),
		"[]request.OperatorToken": each(adminToken),
		"map[string]schema.Role":  oidcRoles,

		"secrets":         each(text),
		"origins":         each(origin),
		"listener":        listenAddress,
		"admin":           adminAddress,
		"path":            existing,
		"web":             WebAddress,
		"API":             WebAddress, // a token is sent to it
		"exact web":       exactAddress,
		"addresses":       each(addressWithQuery),
		"lead webhook":    s.leadWebhook,
		"webhook secrets": each(webhookSecret),
		"database":        databaseURL,
		"cache":           cacheURL,
		"SMTP":            smtp.ParseURL,
		"named tokens":    each(namedToken),
		"recipients":      recipients,
		"events": each(matching(`lead\.(outcome|corrected)`,
			"lead.outcome and lead.corrected, separated by commas")),
		"hosts":          hosts,
		"rate":           deliveryRate,
		"lead retention": leadRetention,
		"drain delay":    duration(0, time.Hour),
		"content TTL":    duration(time.Second, 366*24*time.Hour),
		"max age":        duration(0, 366*24*time.Hour),

		"revalidation delay": duration(0, 24*time.Hour),
		"retry pause":        duration(100*time.Millisecond, 24*time.Hour),
		"CDN":                cdnKind,

		"types": each(matching(`\S+`, "document types separated by commas, without spaces")),
		"scopes": each(matching(`[!#-+\--\[\]-~]+`,
			"scopes separated by commas, such as offline_access,groups")),
		"project": matching(`[a-z0-9][a-z0-9-]{0,63}`,
			"a project id: lower-case letters, digits and hyphens"),
		"dataset": matching(`~?[a-z0-9][a-z0-9_-]{0,63}`,
			"a dataset's name: lower-case letters, digits, hyphens and underscores"),
		"date": matching(`v?20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`,
			"a date such as 2025-02-19"),
		"HubSpot version": matching(`v3|20\d\d-(0[1-9]|1[0-2])`, "v3 or a month such as 2026-03"),
		"deal stage": matching(`.+/.+`,
			"a pipeline and a stage, such as default/appointmentscheduled: `siteapi crm setup` lists them"),
	}
}

func text(v string) (string, error) { return v, nil }

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

// tokens parses comma-separated values. With none, no token is accepted.
func tokens(v string) ([]string, error) { return split(v), nil }

// each parses comma-separated values, and requires at least one.
func each[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(v string) (all []T, err error) {
		for _, part := range split(v) {
			one, err := parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		if len(all) == 0 {
			err = errors.New("must have a value: leave the setting out for none")
		}
		return all, err
	}
}

// oneOf accepts words in any letter case.
func oneOf(allowed ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		v = strings.ToLower(v)
		if !slices.Contains(allowed, v) {
			return v, fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
		}
		return v, nil
	}
}

func cdnKind(v string) (string, error) {
	if _, known := edge.Find(v); !known {
		return v, errors.New("must be one of " + edge.Kinds())
	}
	return v, nil
}

func onOff(v string) (bool, error) {
	v, err := oneOf("on", "off")(v)
	return v == "on", err
}

// matching accepts text in a form, a regular expression. Errors read "must be" and what.
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
	v, err := oneOf("trace", "debug", "info", "warn", "error")(v)
	if err != nil {
		return 0, err
	}
	return zerolog.ParseLevel(v)
}

// Duration parses a duration in Go's notation, or in whole days such as 90d.
func Duration(value string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(value, "d"); ok {
		if n, err := strconv.ParseInt(days, 10, 32); err == nil {
			value = fmt.Sprint(24*n, "h")
		}
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration such as 30s, 10m, 12h or 90d, at most 36500d")
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

func leadRetention(v string) (time.Duration, error) {
	d, err := Duration(v)
	if d > 0 && d < 24*time.Hour {
		err = errors.New("must be at least 1d, or 0s: visitors still download their PDF on the first day")
	}
	return d, err
}

func deliveryRate(v string) (float64, error) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1e6) {
		err = errors.New("must be a number of leads per second, or 0")
	}
	return n, err
}

// adminToken parses an administrators' token without a name.
func adminToken(v string) (request.OperatorToken, error) {
	return request.OperatorToken{
		Token:    v,
		Operator: request.Operator{Actor: request.TokenActor, Role: schema.RoleAdmin},
	}, nil
}

// namedToken parses a token with the name or address of its holder and the role:
// ana:sales:<token>.
func namedToken(v string) (t request.OperatorToken, err error) {
	form := `^([a-z0-9][a-z0-9.@_+-]{0,63}):(` + strings.Join(roleNames(), "|") + `):(.+)$`
	parts := regexp.MustCompile(form).FindStringSubmatch(v)
	if parts == nil {
		return t, fmt.Errorf("must be entries such as ana:sales:<token>, comma-separated: "+
			"a name of a-z, 0-9 and -, or an e-mail address in lower case, a role (%s), and a token",
			strings.Join(roleNames(), ", "))
	}
	t.Token, t.Actor, t.Role = parts[3], request.TokenPrefix+parts[1], schema.Role(strings.ToUpper(parts[2]))
	return t, nil
}

// roleNames returns the names of all roles in settings.
func roleNames() (names []string) {
	for _, role := range schema.AllRole {
		names = append(names, strings.ToLower(string(role)))
	}
	return names
}

// oidcRoles parses the groups of each role: viewer=marketing,sales=sales|desk,admin=ops. The
// separators may be in the name of a group, too, as %2C and %7C, and thus also %25.
func oidcRoles(v string) (map[string]schema.Role, error) {
	roles := map[string]schema.Role{}
	form := regexp.MustCompile(`^(` + strings.Join(roleNames(), "|") + `)\s*=\s*([^|\s][^|]*(?:\|[^|]+)*)$`)
	decode := strings.NewReplacer("%2C", ",", "%2c", ",", "%7C", "|", "%7c", "|", "%25", "%")
	for _, part := range split(v) {
		parts := form.FindStringSubmatch(part)
		if parts == nil {
			return nil, fmt.Errorf("must list the groups of roles (%s), "+
				"such as viewer=marketing,sales=sales|desk,admin=ops", strings.Join(roleNames(), ", "))
		}

		role := schema.Role(strings.ToUpper(parts[1]))
		for group := range strings.SplitSeq(parts[2], "|") {
			group = decode.Replace(strings.TrimSpace(group))
			roles[group] = schema.HighestRole(roles[group], role)
		}
	}
	return roles, nil
}

func locale(v string) (schema.Locale, error) {
	l, ok := schema.ParseLocale(v)
	if !ok {
		return l, fmt.Errorf("must be one of %v", schema.Locales())
	}
	return l, nil
}

func timeZone(v string) (*time.Location, error) {
	zone, err := time.LoadLocation(v)
	if err != nil || v == "Local" {
		return nil, errors.New("must be the name of a time zone, such as Europe/Bucharest")
	}
	return zone, nil
}

// existing accepts the path of a file or folder that can be read.
func existing(v string) (string, error) {
	f, err := os.Open(v)
	if err != nil {
		return v, fmt.Errorf("must be the path of a readable file or folder: %w", err)
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

// samePort reports whether two listeners need the same port, because their hosts are the same
// or one of them is any.
func samePort(a, b string) bool {
	first, port, err := net.SplitHostPort(a)
	second, other, otherErr := net.SplitHostPort(b)
	if err != nil || otherErr != nil || port != other || strings.Trim(port, "0") == "" {
		return false
	}
	isAny := func(host string) bool { return host == "" || host == "::" || host == "0.0.0.0" }
	return first == second || isAny(first) || isAny(second)
}

// sender parses an ASCII address, which all mail servers accept, with an optional name.
func sender(v string) (mail.Address, error) {
	a, err := mail.ParseAddress(v)
	if err != nil || strings.ContainsFunc(a.Address, func(r rune) bool { return r > '~' }) {
		return mail.Address{}, errors.New("must be an address such as quotes@example.com " +
			"or Lumen Studio <quotes@example.com>, in ASCII except for the name")
	}
	return *a, nil
}

// salesMax is the maximum number of recipients. The mails of a delivery are sent
// concurrently.
const salesMax = 10

// recipients parses comma-separated addresses, and drops names and duplicates.
func recipients(v string) (bare []string, err error) {
	list, err := each(sender)(v)
	if len(list) > salesMax {
		err = fmt.Errorf("must have at most %d addresses", salesMax)
	}
	for _, a := range list {
		if !slices.Contains(bare, a.Address) {
			bare = append(bare, a.Address)
		}
	}
	return bare, err
}

// databaseURL parses the address of a PostgreSQL database. The library's error is not
// returned, as it contains the address.
func databaseURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err == nil {
		_, err = pgxpool.ParseConfig(v)
	}

	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" ||
		u.Host == "" && u.Query().Get("host") == "" {
		return nil, errors.New("must be an address such as postgres://user:password@host:5432/database, " +
			"with valid parameters of PostgreSQL")
	}
	return u, nil
}

func cacheURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err == nil && u.Scheme != "memory" {
		_, err = valkey.ParseURL(v)
	}
	if err != nil || u.Scheme != "memory" && u.Host == "" {
		return nil, errors.New("must be memory://, or an address such as " +
			"valkey://user:password@host:6379/0 (or valkeys://, redis://, rediss://), " +
			"with the number of a database")
	}
	return u, nil
}

func network(v string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(v)
	if addr, notAddr := netip.ParseAddr(v); notAddr == nil {
		prefix, err = addr.Unmap().Prefix(addr.Unmap().BitLen())
	}

	// An IPv4 network in IPv6 notation would match no address.
	if err != nil || prefix.Addr().Is4In6() {
		return prefix, fmt.Errorf("%q must be an address, or a network such as 10.0.0.0/8", v)
	}
	return prefix.Masked(), nil
}

func hosts(v string) ([]string, error) {
	_, err := upstream.ParseAllowedHosts(split(v))
	return split(v), err
}
