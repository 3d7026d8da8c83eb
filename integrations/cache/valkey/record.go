package valkey

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// record is an entry as it is stored at the server: two times in milliseconds and the
// revision, each followed by a space, and then the value. Reading it copies nothing.
type record struct {
	cache.Entry
	until time.Time // the end of its freshness
}

const (
	timeLength     = 13
	revisionLength = 22
	headerLength   = 2*timeLength + revisionLength + 3
)

func (r record) fresh() bool { return time.Now().Before(r.until) }

// times returns the beginning of the stored form: both times, each followed by a space.
func (r record) times() string {
	return fmt.Sprintf("%0*d %0*d ", timeLength, r.StoredAt.UnixMilli(), timeLength, r.until.UnixMilli())
}

func encode(r record) string { return r.times() + r.Revision + " " + string(r.Value) }

func decode(m *valkey.ValkeyMessage) (record, error) {
	text, err := m.ToString()
	if err != nil {
		return record{}, err
	}
	if len(text) < headerLength {
		return record{}, errors.New("the server holds something that is not an entry")
	}

	value, err := m.AsBytes() // the same memory as text
	storedAt, storedErr := strconv.ParseInt(text[:timeLength], 10, 64)
	until, untilErr := strconv.ParseInt(text[timeLength+1:2*timeLength+1], 10, 64)
	if err := errors.Join(err, storedErr, untilErr); err != nil {
		return record{}, fmt.Errorf("reading an entry: %w", err)
	}

	revision := text[2*timeLength+2 : headerLength-1]
	return record{
		cache.Entry{
			Value:    value[headerLength:],
			Revision: revision,
			StoredAt: time.UnixMilli(storedAt),
		},
		time.UnixMilli(until),
	}, nil
}
