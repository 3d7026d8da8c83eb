package config

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"siteapi/integrations/upstream"
)

// Each of these functions returns one that checks a value and stores it. Errors say what
// a value must be, and never repeat one that may hold a password.

func text(to *string) func(string) error {
	return func(v string) error { *to = v; return nil }
}

// list takes comma-separated values.
func list(to *[]string) func(string) error {
	return func(v string) error { *to = split(v); return nil }
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

func onOff(to *bool) func(string) error {
	return func(v string) error {
		*to = v == "on"
		if v != "on" && v != "off" {
			return errors.New("must be on or off")
		}
		return nil
	}
}

func choice(to *string, allowed ...string) func(string) error {
	return func(v string) error {
		*to = v
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
		}
		return nil
	}
}

// matching takes text of a form, or none.
func matching(to *string, form, what string) func(string) error {
	return func(v string) error {
		*to = v
		if v != "" && !regexp.MustCompile(`^(?:`+form+`)$`).MatchString(v) {
			return errors.New("must be " + what)
		}
		return nil
	}
}

func number(to *int, most int) func(string) error {
	return func(v string) (err error) {
		if *to, err = strconv.Atoi(v); err != nil || *to < 1 || *to > most {
			return fmt.Errorf("must be a whole number from 1 to %d", most)
		}
		return nil
	}
}

func logLevel(to *zerolog.Level) func(string) error {
	return func(v string) (err error) {
		*to, err = zerolog.ParseLevel(v)
		if err != nil || *to < zerolog.TraceLevel || *to > zerolog.ErrorLevel {
			return errors.New("must be one of trace, debug, info, warn, error")
		}
		return nil
	}
}

// durationMax is the longest duration that a setting takes. Much longer ones overflow.
const durationMax = 36500 * 24 * time.Hour

// Duration reads Go's form of a duration, and whole days as in 90d.
func Duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(min(n, int64(durationMax/(24*time.Hour))+1)) * 24 * time.Hour
	}
	switch {
	case err != nil || d < 0:
		return 0, errors.New("must be a duration such as 30s, 10m, 12h or 90d")
	case d > durationMax:
		return 0, errors.New("must be at most 36500d")
	}
	return d, nil
}

func duration(to *time.Duration, least, most time.Duration) func(string) error {
	return func(v string) (err error) {
		if *to, err = Duration(v); err != nil {
			return err
		}
		if *to < least || *to > most {
			return fmt.Errorf("must be between %s and %s", least, most)
		}
		return nil
	}
}

// leadRetention takes 0s or a day at least: visitors still fetch their PDF on the first.
func leadRetention(to *time.Duration) func(string) error {
	return func(v string) error {
		if err := duration(to, 0, durationMax)(v); err != nil {
			return err
		}
		if *to > 0 && *to < 24*time.Hour {
			return errors.New("must be 1d at least, or 0s: visitors still fetch their PDF on the first day")
		}
		return nil
	}
}

// deliveryRate takes leads a second. Left out, each driver has its own.
func (s *Settings) deliveryRate(v string) error {
	if v == "" {
		if s.CMSDriver == "sanity" {
			s.CMSRate = 20
		}
		if s.CRMDriver == "hubspot" {
			s.CRMRate = 5
		}
		return nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1e6) {
		return errors.New("must be a number of leads a second, or 0")
	}
	s.CMSRate, s.CRMRate = n, n
	return nil
}

// existing takes the path of a file or folder that is there, or none.
func existing(to *string) func(string) error {
	return func(v string) error {
		*to = v
		if v == "" {
			return nil
		}
		f, err := os.Open(v)
		if err != nil {
			return fmt.Errorf("must be the path of something that can be read: %w", err)
		}
		return f.Close()
	}
}

func listenAddress(to *string) func(string) error {
	return func(v string) error {
		*to = v
		_, port, err := net.SplitHostPort(v)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return errors.New("must be host:port or :port, with a port from 0 to 65535")
		}
		return nil
	}
}

func adminAddress(to *string) func(string) error {
	return func(v string) error {
		if v == "off" {
			*to = ""
			return nil
		}
		return listenAddress(to)(v)
	}
}

// WebAddress checks an absolute address of a web server.
func WebAddress(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		!validPort(u) || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address such as https://example.com")
	}
	return nil
}

// webAddress takes a web address, or none.
func webAddress(to *string) func(string) error {
	return func(v string) error {
		*to = strings.TrimSuffix(v, "/")
		if v == "" {
			return nil
		}
		return WebAddress(v)
	}
}

// leadWebhookURL takes a web address, or none. Some services sign theirs in the query. Plain
// HTTP is for an address of the own network.
func (s *Settings) leadWebhookURL(v string) error {
	s.LeadWebhookURL = v
	address, _, _ := strings.Cut(v, "?")
	if v == "" {
		return nil
	}
	if err := WebAddress(address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err == nil && (u.User != nil || strings.Contains(v, "#")) {
		return errors.New("must have no user name, password or fragment: they are not sent")
	}
	if err != nil || s.Environment == Development || u.Scheme == "https" {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.IsPrivate() && !ip.IsLoopback() {
		return errors.New("must begin with https://: it is sent names and e-mail addresses")
	}
	return nil
}

// webhookSecrets takes comma-separated secrets in the form of Standard Webhooks.
func webhookSecrets(to *[]string) func(string) error {
	return func(v string) error {
		*to = split(v)
		for _, secret := range *to {
			encoded, ok := strings.CutPrefix(secret, "whsec_")
			key, err := base64.StdEncoding.DecodeString(encoded)
			if !ok || err != nil || len(key) < 24 || len(key) > 64 {
				return errors.New("must be whsec_ and 24 to 64 bytes in base64, as `echo whsec_$(openssl rand -base64 32)` makes one")
			}
		}
		return nil
	}
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// DatabaseURL reads the address of a PostgreSQL database.
func DatabaseURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return nil, errors.New("must be an address such as postgres://user:password@host/database")
	}
	if _, err := pgxpool.ParseConfig(value); err != nil { // its text repeats the address
		return nil, errors.New("must be an address such as postgres://user:password@host:5432/database: " +
			"its port or one of its parameters is wrong")
	}
	return u, nil
}

func databaseURL(to **url.URL) func(string) error {
	return func(v string) (err error) {
		if v != "" {
			*to, err = DatabaseURL(v)
		}
		return err
	}
}

func cacheURL(to **url.URL) func(string) error {
	return func(v string) error {
		u, err := url.Parse(v)
		if err != nil {
			u = &url.URL{}
		}
		*to = u
		switch u.Scheme {
		case "memory":
			return nil
		case "valkey", "valkeys", "redis", "rediss":
		default:
			return errors.New("must be an address that begins with memory://, valkey://, valkeys://, redis:// or rediss://")
		}
		database := strings.TrimPrefix(u.Path, "/")
		if _, err := strconv.ParseUint(cmp.Or(database, "0"), 10, 31); err != nil || u.Hostname() == "" || !validPort(u) {
			return errors.New("must be an address such as valkey://user:password@host:6379/0, with a number as the database")
		}
		return nil
	}
}

// origins takes origins in the form in which browsers send them, or *.
func origins(to *[]string) func(string) error {
	return func(v string) error {
		*to = split(v)
		for _, o := range *to {
			if o == "*" {
				continue
			}
			u, err := url.Parse(o)
			if err != nil || WebAddress(o) != nil || o != strings.ToLower(o) || u.Scheme+"://"+u.Host != o ||
				u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
				return fmt.Errorf("%q is not an origin as browsers send it: scheme and host in lower case, "+
					"and a port only where it is unusual, "+
					"such as https://example.com", o)
			}
		}
		return nil
	}
}

func networks(to *[]netip.Prefix) func(string) error {
	return func(v string) error {
		for _, item := range split(v) {
			prefix, err := netip.ParsePrefix(item)
			if err != nil {
				addr, err := netip.ParseAddr(item)
				if err != nil {
					return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", item)
				}
				prefix = netip.PrefixFrom(addr, addr.BitLen())
			}
			*to = append(*to, prefix.Masked())
		}
		return nil
	}
}

// hosts takes hosts that a logo may be fetched from.
func hosts(to *[]string) func(string) error {
	return func(v string) error {
		*to = split(v)
		_, err := upstream.ParseAllowedHosts(*to)
		return err
	}
}
