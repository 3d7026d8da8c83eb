package cache

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPattern is the greatest length of a pattern, in characters.
const MaxPattern = 256

// Pattern is a glob over keys, as Valkey understands it: `*` is any number of bytes,
// `?` one byte, `[abc]` one of a set, `[a-z]` one of a range (written in either
// direction), `[^a]` one that is not in the set, and `\` takes what follows
// literally. As in Valkey an unterminated set ends with the pattern, an empty one
// matches nothing, and a letter outside ASCII counts as several bytes.
//
// Bytes are compared unsigned. Valkey compares them as the machine's C compiler
// does, so a range with one end inside and one outside ASCII means something else
// on some of its servers; here it means the same everywhere.
//
// The zero Pattern matches nothing.
type Pattern struct {
	text  string
	steps []step
}

// ParsePattern checks a pattern of 1 to 256 characters. Its error is a sentence for
// the client who sent the pattern.
func ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, errors.New("the pattern must not be empty")
	}
	if !utf8.ValidString(text) {
		return Pattern{}, errors.New("the pattern must be valid UTF-8")
	}
	if n := utf8.RuneCountInString(text); n > MaxPattern {
		return Pattern{}, fmt.Errorf("the pattern must have at most %d characters, it has %d", MaxPattern, n)
	}
	return Pattern{text: text, steps: compile(text)}, nil
}

// All returns the pattern that matches every key.
func All() Pattern { return Pattern{text: "*", steps: compile("*")} }

// String returns the pattern as it was given.
func (p Pattern) String() string { return p.text }

// Match reports whether the whole key matches. It takes at most time proportional
// to the length of the pattern times the length of the key.
func (p Pattern) Match(key string) bool {
	if p.text == "" {
		return false
	}
	// Only the latest star ever needs another try: whatever an earlier one could
	// still give up, the latest one can take as well.
	at, star, resume := 0, -1, 0
	for i := 0; i < len(key); {
		switch {
		case at < len(p.steps) && p.steps[at].kind == anyBytes:
			star, resume = at, i
			at++
		case at < len(p.steps) && p.steps[at].takes(key[i]):
			at++
			i++
		case star >= 0:
			resume++
			at, i = star+1, resume
		default:
			return false
		}
	}
	for at < len(p.steps) && p.steps[at].kind == anyBytes {
		at++
	}
	return at == len(p.steps)
}

// Escape returns a pattern text that matches exactly the given key.
func Escape(key string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(key)
}
