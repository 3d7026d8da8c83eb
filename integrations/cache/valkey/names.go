package valkey

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"siteapi/integrations/cache"
)

// names says how keys of the cache are called at the server.
//
//	<prefix>e:{<tag>}<key>   an entry: a hash of v (value), r (revision), t (stored at), s (stale)
//	<prefix>l:{<tag>}<key>   the lease of who fills it: a random token
//
// The tag, four hexadecimal digits that follow from the key, puts the two into the
// same slot of a cluster, whatever braces the key itself contains.
type names struct{ prefix string }

// checkPrefix refuses what would break the tag or be a nuisance to operators.
func checkPrefix(prefix string) error {
	if prefix == "" || len(prefix) > 64 {
		return errors.New("the prefix of the keys must have 1 to 64 characters")
	}
	for _, r := range prefix {
		if r <= ' ' || r > '~' || r == '{' || r == '}' {
			return fmt.Errorf("the prefix of the keys must be printable ASCII without spaces and braces, not %q", prefix)
		}
	}
	return nil
}

func tag(key string) string {
	h := fnv.New32a()
	h.Write([]byte(key)) // never fails
	sum := h.Sum32()
	return fmt.Sprintf("{%04x}", uint16(sum)^uint16(sum>>16))
}

// of returns the names of entry and lease.
func (n names) of(key string) []string {
	t := tag(key)
	return []string{n.prefix + "e:" + t + key, n.prefix + "l:" + t + key}
}

// entries returns what all names of entries begin with.
func (n names) entries() string { return n.prefix + "e:" }

// leases returns what all names of leases begin with.
func (n names) leases() string { return n.prefix + "l:" }

// key returns the key behind a name that begins with what entries or leases returns.
func (n names) key(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, n.entries())
	if !ok {
		rest, ok = strings.CutPrefix(name, n.leases())
	}
	if !ok || len(rest) < len("{0000}") || rest[0] != '{' || rest[5] != '}' {
		return "", false
	}
	return rest[6:], true
}

// glob narrows a scan to names under one beginning whose key may match. Keys are
// matched again by the pattern itself. With bytes beyond ASCII servers differ in what
// a range means, so there they are asked for everything.
func (n names) glob(beginning string, p cache.Pattern) string {
	text := p.String()
	for i := range len(text) {
		if text[i] >= 0x80 {
			text = "*"
			break
		}
	}
	return cache.Escape(beginning) + "{????}" + text
}
