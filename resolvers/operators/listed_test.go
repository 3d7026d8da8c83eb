package operators

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"
)

// A list is remembered for a while, and no more lists than there is room for.
func TestListings(t *testing.T) {
	t.Parallel()
	key := func(n uint32) [sha256.Size]byte { return sha256.Sum256(binary.BigEndian.AppendUint32(nil, n)) }
	var l listings
	now := time.Now()

	l.add(key(0), now)
	if !l.has(key(0), now.Add(listedAgain-time.Second)) || l.has(key(0), now.Add(listedAgain)) || l.has(key(1), now) {
		t.Error("a list is remembered for too short or too long, or is taken for another")
	}
	for n := range uint32(2 * maxListings) {
		l.add(key(n), now)
	}
	if n := len(l.recorded); n > maxListings || !l.has(key(2*maxListings-1), now) {
		t.Errorf("%d lists are remembered", n)
	}
}
