package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/valkey-io/valkey-go"
)

// schemes of an address; those that end in "s" mean TLS.
const schemes = "valkey, valkeys, redis or rediss"

// parameters that may follow an address.
var parameters = []string{"addr", "ca_file", "client_name", "db", "master_set", "sentinel_password", "sentinel_username", "skip_verify"}

// ParseURL reads an address of the form
//
//	valkey[s]://[user[:password]@]host[:port][/db][?parameter=value&…]
//
// with the parameters addr (host:port of a further node of a cluster or a further
// sentinel, may be repeated), master_set (the name of the primary: the addresses are
// those of sentinels), sentinel_username and sentinel_password, db, client_name, and
// with TLS ca_file (path of a PEM file with the authority to trust) and
// skip_verify=true. redis and rediss mean the same. Whether a single address belongs
// to a cluster is found out by asking it.
//
// Its errors say what to do and never show any part of the address that could be a
// password.
func ParseURL(text string) (valkey.ClientOption, error) {
	var none valkey.ClientOption
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		// The library's error quotes what it stumbled over: often a part of a password.
		return none, errors.New("the address can't be read: it should look like valkey://user:password@host:6379/0, " +
			"with special characters of a password percent-encoded")
	}
	if !slices.Contains([]string{"valkey", "valkeys", "redis", "rediss"}, u.Scheme) {
		return none, fmt.Errorf("the address must begin with %s, followed by ://", schemes)
	}
	if u.Hostname() == "" {
		return none, errors.New("the address names no host")
	}
	for name := range u.Query() {
		if !slices.Contains(parameters, name) {
			return none, fmt.Errorf("the address has the unknown parameter %q; known are %s", name, strings.Join(parameters, ", "))
		}
	}
	o, err := valkey.ParseURL(text)
	if err != nil {
		return none, fmt.Errorf("reading the address: %w", err)
	}
	o.Sentinel.Username = u.Query().Get("sentinel_username")
	o.Sentinel.Password = u.Query().Get("sentinel_password")
	if err := setTLS(&o, u.Query()); err != nil {
		return none, err
	}
	return o, nil
}

// setTLS finishes the settings of an encrypted connection.
func setTLS(o *valkey.ClientOption, q url.Values) error {
	if o.TLSConfig == nil {
		if q.Has("ca_file") || q.Has("skip_verify") {
			return errors.New("the address has parameters of an encrypted connection, but begins with valkey or redis instead of valkeys or rediss")
		}
		return nil
	}
	// Each node is checked against the name it is addressed by, not all against that
	// of the first.
	o.TLSConfig.ServerName = ""
	if path := q.Get("ca_file"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading ca_file of the address: %w", err)
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca_file of the address: %s holds no certificate in PEM form", path)
		}
	}
	if o.Sentinel.MasterSet != "" {
		o.Sentinel.TLSConfig = &tls.Config{
			MinVersion: o.TLSConfig.MinVersion, RootCAs: o.TLSConfig.RootCAs, InsecureSkipVerify: o.TLSConfig.InsecureSkipVerify,
		}
	}
	return nil
}
