package gqlhttp

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// answers keeps finished answers of public queries, by the exact bytes of the request. An
// answer is used as long as the content it was made from is still current: the content's
// revisions are read before an operation runs, and again after it, so a change in between
// is never missed.
//
// What can be in here is decided by the schema (@cacheControl with a locale), so it is
// the same for everybody whoever asks: no answer depends on a token or a cookie.
//
// It can't be filled to much effect: an answer counts with all the memory it holds, only
// those without errors are kept, only from a request's second sight on, and the cache
// admits by frequency, so that requests which come once never push out those that come often.
type answers struct {
	revision func(locale string) (string, bool) // nil: nothing is kept
	seeds    [4]maphash.Seed                    // by kind
	cache    *otter.Cache[uint64, *answer]
	seen     []atomic.Uint64 // hashes of requests seen lately, each in its own place
}

const (
	defaultAnswerBytes = 16 << 20
	answerOverhead     = 1 << 10  // bytes for each answer beside its request and its body
	maxKeptRequest     = 16 << 10 // bytes of a request
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

// answer is what is kept of a request. It is never changed.
type answer struct {
	kind      kind
	request   []byte
	label     string // of the operation, see [Event]
	revisions []revision
	page      page
}

// weight is how much memory an answer takes.
func (a *answer) weight() uint32 { return uint32(answerOverhead + len(a.request) + len(a.page.body)) }

// newAnswers returns a cache. Where size is negative or there are no revisions, it
// keeps nothing.
func newAnswers(size int64, rev func(string) (string, bool)) (*answers, error) {
	a := &answers{revision: rev, seen: make([]atomic.Uint64, seenPlaces)}
	if size < 0 {
		a.revision = nil
	}
	if size <= 0 {
		size = defaultAnswerBytes
	}
	for i := range a.seeds {
		a.seeds[i] = maphash.MakeSeed()
	}
	var err error
	a.cache, err = otter.New(&otter.Options[uint64, *answer]{
		MaximumWeight: uint64(size),
		Weigher:       func(_ uint64, a *answer) uint32 { return a.weight() },
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of answers: %w", err)
	}
	return a, nil
}

// find returns what is kept of exactly this request. The hash is for keep; its seed is
// secret, so nobody can make requests collide.
func (a *answers) find(k kind, request []byte) (found *answer, hash uint64) {
	hash = maphash.Bytes(a.seeds[k], request)
	found, ok := a.cache.GetIfPresent(hash)
	if !ok || found.kind != k || !bytes.Equal(found.request, request) {
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

// read returns the present revisions of what an operation is made from; nil where its
// answer can't be kept.
func (a *answers) read(p *plan, variables map[string]any) []revision {
	if a.revision == nil || !p.public() {
		return nil
	}
	revisions := make([]revision, 0, len(p.sources))
	for _, s := range p.sources {
		locale, ok := s.resolve(variables)
		if !ok {
			return nil
		}
		if slices.ContainsFunc(revisions, func(r revision) bool { return r.locale == locale }) {
			continue
		}
		name, ok := a.revision(locale)
		if !ok {
			return nil
		}
		revisions = append(revisions, revision{locale, name})
	}
	return revisions
}

// wants reports whether this request should be kept: it was kept before, or seen lately.
func (a *answers) wants(hash uint64) bool {
	if a.seen[hash%seenPlaces].Swap(hash) == hash {
		return true
	}
	_, ok := a.cache.GetEntryQuietly(hash)
	return ok
}

// keep stores an answer without errors unless its content has changed since.
func (a *answers) keep(c *call, p page, k kind, revisions []revision) {
	if len(revisions) == 0 || !a.current(revisions) {
		return
	}
	p.body = bytes.Clone(p.body)
	a.cache.Set(c.hash, &answer{kind: k, request: bytes.Clone(c.raw), label: c.plan.label, page: p, revisions: revisions})
}
