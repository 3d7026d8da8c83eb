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

// record is an entry as it is stored at the server: two times in milliseconds and the
// revision, each followed by a space, and then the value. One without times is the claim of an
// instance that fills the key, with a token for its revision.
type record struct {
	cache.Entry
	until time.Time // the end of its freshness
}

func (r record) fresh() bool { return time.Now().Before(r.until) }

// times returns the beginning of the stored form: both times, each followed by a space.
func (r record) times() string {
	return fmt.Sprintf("%d %d ", r.StoredAt.UnixMilli(), r.until.UnixMilli())
}

func encode(r record) string { return r.times() + r.Revision + " " + string(r.Value) }

// decode returns the record of a reply, or false if the reply is a claim.
func decode(m *valkey.ValkeyMessage) (r record, found bool, err error) {
	text, err := m.ToString()
	if err != nil {
		return record{}, false, err
	}
	fields := strings.SplitN(text, " ", 4)
	if len(fields) < 4 {
		return record{}, false, errors.New("the server holds something that is not an entry")
	}

	storedAt, storedErr := strconv.ParseInt(fields[0], 10, 64)
	until, untilErr := strconv.ParseInt(fields[1], 10, 64)
	bytes, err := m.AsBytes() // the same memory as text: large values are not copied
	r = record{
		Entry: cache.Entry{
			Value:    bytes[len(text)-len(fields[3]):],
			Revision: fields[2],
			StoredAt: time.UnixMilli(storedAt),
		},
		until: time.UnixMilli(until),
	}
	return r, !r.until.IsZero(), errors.Join(err, storedErr, untilErr)
}
