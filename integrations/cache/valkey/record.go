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
// revision, each followed by a space, and then the value.
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

func decode(m *valkey.ValkeyMessage) (record, error) {
	text, err := m.ToString()
	if err != nil {
		return record{}, err
	}
	fields := strings.SplitN(text, " ", 4)
	if len(fields) < 4 {
		return record{}, errors.New("the server holds something that is not an entry")
	}

	bytes, err := m.AsBytes() // the same memory as text: large values are not copied
	storedAt, storedErr := strconv.ParseInt(fields[0], 10, 64)
	until, untilErr := strconv.ParseInt(fields[1], 10, 64)
	if err := errors.Join(err, storedErr, untilErr); err != nil {
		return record{}, fmt.Errorf("reading an entry: %w", err)
	}

	entry := cache.Entry{
		Value:    bytes[len(text)-len(fields[3]):],
		Revision: fields[2],
		StoredAt: time.UnixMilli(storedAt),
	}
	return record{entry, time.UnixMilli(until)}, nil
}
