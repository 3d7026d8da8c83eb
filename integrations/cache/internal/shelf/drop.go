package shelf

import "maps"

// Drop removes the entries under keys with their flights. When it returns they are
// gone, and what began before it is not put back.
func (s *Shelf) Drop(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.flights, key)
		delete(s.readers, key)
		s.entries.Invalidate(key)
	}
}

// DropMatching removes all entries and flights whose key matches and returns the
// number of usable entries among them. Readers of other keys never wait for it.
func (s *Shelf) DropMatching(match func(key string) bool) int {
	s.mu.Lock()
	for _, table := range []map[string]*Flight{s.flights, s.readers} {
		maps.DeleteFunc(table, func(key string, _ *Flight) bool { return match(key) })
	}
	s.mu.Unlock()
	// From here on no load that began earlier is kept, and whatever such a load kept
	// before is on the shelf already: there is no need to hold the lock.
	n := 0
	for key := range s.entries.Keys() {
		if !match(key) {
			continue
		}
		if r, ok := s.entries.Invalidate(key); ok && s.usable(r) {
			n++
		}
	}
	return n
}

// DropAll removes everything.
func (s *Shelf) DropAll() int { return s.DropMatching(func(string) bool { return true }) }

// Len returns the number of usable entries.
func (s *Shelf) Len() int {
	n := 0
	for _, r := range s.entries.All() {
		if s.usable(r) {
			n++
		}
	}
	return n
}
