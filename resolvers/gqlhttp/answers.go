package gqlhttp

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// answers keeps finished answers of public queries, as bytes, by the exact bytes of the
// request. An answer is used as long as the content it was made from is still current:
// the content's revisions are read before an operation runs, and again after it, so a
// change in between is never missed.
//
// What can be in here is decided by the schema (@cacheControl with a locale), so it is
// the same for everybody whoever asks: no answer depends on a token or a cookie.
//
// It can't be filled to much effect: only answers without errors are kept, only up to
// maxAnswer bytes, only from a request's second sight on, and the cache admits by
// frequency, so that requests which come once never push out those that come often.
type answers struct {
	revision func(locale string) (string, bool)
	seeds    [4]maphash.Seed // by kind
	cache    *otter.Cache[uint64, *answer]
	seen     []atomic.Uint64 // hashes of requests seen lately, each in its own place
}

const (
	defaultAnswerBytes = 16 << 20
	answerOverhead     = 512       // bytes of memory beside request and body
	maxAnswer          = 256 << 10 // bytes of request and body
	seenPlaces         = 1 << 13
)

// kind is what a request's bytes are, and what is wanted back.
type kind uint8

func kindOf(get bool, m media) kind {
	k := kind(m)
	if get {
		k += 2
	}
	return k
}

// revision is a locale's content at one time.
type revision struct{ locale, name string }

// answer is a finished answer. It is never changed.
type answer struct {
	kind      kind
	request   []byte
	revisions []revision
	label     string
	page
}

// newAnswers returns a cache; without revisions or memory it is nil, and keeps nothing.
func newAnswers(size int64, rev func(string) (string, bool)) (*answers, error) {
	if rev == nil || size < 0 {
		return nil, nil //nolint:nilnil // all methods work on nil
	}
	if size == 0 {
		size = defaultAnswerBytes
	}
	a := &answers{revision: rev, seen: make([]atomic.Uint64, seenPlaces)}
	for i := range a.seeds {
		a.seeds[i] = maphash.MakeSeed()
	}
	var err error
	a.cache, err = otter.New(&otter.Options[uint64, *answer]{
		MaximumWeight: uint64(size),
		Weigher: func(_ uint64, a *answer) uint32 {
			return uint32(len(a.request) + len(a.body) + answerOverhead)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of answers: %w", err)
	}
	return a, nil
}

// find returns the answer to exactly this request, if it is still current. The hash is
// for keep; its seed is secret, so nobody can make requests collide.
func (a *answers) find(k kind, request []byte) (found *answer, hash uint64) {
	if a == nil {
		return nil, 0
	}
	hash = maphash.Bytes(a.seeds[k], request)
	found, ok := a.cache.GetIfPresent(hash)
	if !ok || found.kind != k || !bytes.Equal(found.request, request) || !a.current(found.revisions) {
		return nil, hash
	}
	return found, hash
}

// current reports whether none of the revisions has changed.
func (a *answers) current(revisions []revision) bool {
	for i := range revisions {
		name, ok := a.revision(revisions[i].locale)
		if !ok || name != revisions[i].name {
			return false
		}
	}
	return true
}

// read returns the present revisions of what an operation is made from; false where
// its answer can't be kept.
func (a *answers) read(p *plan, variables map[string]any) ([]revision, bool) {
	if a == nil || !p.hint.cacheable || p.hint.private {
		return nil, false
	}
	revisions := make([]revision, 0, len(p.sources))
	for _, s := range p.sources {
		locale, ok := s.resolve(variables)
		if !ok {
			return nil, false
		}
		if slices.ContainsFunc(revisions, func(r revision) bool { return r.locale == locale }) {
			continue
		}
		name, ok := a.revision(locale)
		if !ok {
			return nil, false
		}
		revisions = append(revisions, revision{locale, name})
	}
	return revisions, true
}

// wants reports whether an answer to this request should be kept: one that was kept
// before, or whose request was seen lately.
func (a *answers) wants(hash uint64) bool {
	if a.seen[hash%seenPlaces].Swap(hash) == hash {
		return true
	}
	_, ok := a.cache.GetEntryQuietly(hash)
	return ok
}

// keep stores an answer unless its content has changed since.
func (a *answers) keep(hash uint64, one *answer) {
	if len(one.request)+len(one.body) <= maxAnswer && a.current(one.revisions) {
		a.cache.Set(hash, one)
	}
}
