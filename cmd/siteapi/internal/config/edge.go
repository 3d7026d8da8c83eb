package config

import (
	"errors"
	"strings"
	"time"

	"siteapi/integrations/edge"
)

// unpurgedMax is how long a cache in front may keep an answer that it is not told to drop.
const unpurgedMax = time.Minute

// checkEdge reports settings of the CDN that are missing, or unsafe together.
func (s *Settings) checkEdge(
	need func(when bool, name, why string), report func(name string, err error),
) {
	need(len(s.PurgeURLs) > 0, "CDN_PURGE_KIND", "with CDN_PURGE_URL: varnish, fastly or cloudflare")
	need(len(s.PurgeURLs) > 0, "CDN_PURGE_TOKEN", "with CDN_PURGE_URL: the token that may purge")
	need(len(s.RevalidateURLs) > 0, "REVALIDATE_SECRET",
		"with REVALIDATE_URLS: set one, for instance `echo whsec_$(openssl rand -base64 32)`")

	if s.CDNMaxAge > unpurgedMax && len(s.PurgeURLs) == 0 {
		report("CDN_MAX_AGE", errors.New(
			"must be 1m at most without CDN_PURGE_URL: a publication would not be seen for so long"))
	}

	cdn, _ := edge.Find(s.PurgeKind)
	for _, address := range s.PurgeURLs {
		if cdn.Public && s.Environment != Development && strings.HasPrefix(address, "http:") {
			report("CDN_PURGE_URL", errors.New("must begin with https://: the token is sent to it"))
			return
		}
	}
}

// purgeKinds returns the names of the kinds of CDN.
func purgeKinds() (names []string) {
	for _, cdn := range edge.CDNs() {
		names = append(names, cdn.Kind)
	}
	return names
}

// addresses parses comma-separated web addresses, which may have a query.
func addresses(v string) ([]string, error) {
	list, err := list(v)
	for _, address := range list {
		if addressWithQuery(address) != nil {
			err = errors.New("must be addresses such as https://example.com/path, comma-separated, " +
				"without a user name, password or fragment, and with spaces and letters outside ASCII " +
				"in the query encoded as in %20")
		}
	}
	return list, err
}
