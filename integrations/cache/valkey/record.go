package valkey

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// record is an entry as stored on the server: the end of its freshness in milliseconds
// and its revision, each followed by a space, and then its value. A record whose time is
// zero is the claim of an instance that fills the key; its revision is a token.
type record struct {
	cache.Entry
	until time.Time // the end of its freshness
}

func (r record) fresh() bool { return time.Now().Before(r.until) }

// head returns the stored form without the value.
func (r record) head() string { return fmt.Sprintf("%d %s ", r.until.UnixMilli(), r.Revision) }

// decode returns the record in a reply, or false if the reply is a claim.
func decode(m *valkey.ValkeyMessage) (r record, found bool, err error) {
	text, err := m.ToString()
	if err != nil {
		return record{}, false, err
	}
	fields := strings.SplitN(text, " ", 3)
	if len(fields) < 3 {
		return record{}, false, errors.New("the stored value is not a cache entry")
	}

	until, timeErr := strconv.ParseInt(fields[0], 10, 64)
	bytes, err := m.AsBytes() // shares the memory of text: large values are not copied
	r = record{
		Entry: cache.Entry{Value: bytes[len(text)-len(fields[2]):], Revision: fields[1]},
		until: time.UnixMilli(until),
	}
	return r, !r.until.IsZero(), errors.Join(err, timeErr)
}
