package cache

import "strings"

// Pattern is a glob over keys with Valkey's syntax: `*` matches any number of bytes, `?`
// one byte, `[abc]` one byte of a set, `[a-z]` one byte of a range (written in either
// direction), `[^a]` one byte outside a set, and `\` makes the next byte literal. As in
// Valkey, an unterminated set ends with the pattern, an empty set matches nothing, and a
// letter outside ASCII counts as several bytes. The empty Pattern matches nothing.
type Pattern string

// Escape returns the text of a pattern that matches only the given key.
func Escape(key string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(key)
}

// Match reports whether the whole key matches. Its running time is at most proportional
// to the length of the pattern times the length of the key.
func (p Pattern) Match(key string) bool {
	if p == "" {
		return false
	}

	// Only the latest star needs backtracking: it can match everything that an earlier
	// one could.
	at, star, resume := 0, -1, 0

	for i := 0; i < len(key); {
		if at < len(p) && p[at] == '*' {
			star, resume = at, i
			at++
			continue
		}

		if at < len(p) {
			if matches, next := matchByte(string(p), at, key[i]); matches {
				at = next
				i++
				continue
			}
		}

		if star < 0 {
			return false
		}

		resume++
		at, i = star+1, resume
	}

	return strings.Trim(string(p[at:]), "*") == ""
}

// matchByte reports whether the element of a pattern at i, which is not a star, matches
// one byte. It also returns the position of the next element.
func matchByte(text string, i int, b byte) (matches bool, next int) {
	switch {
	case text[i] == '?':
		return true, i + 1
	case text[i] == '\\' && i+1 < len(text): // a final backslash matches itself
		return text[i+1] == b, i + 2
	case text[i] != '[':
		return text[i] == b, i + 1
	}

	i++
	negated := strings.HasPrefix(text[i:], "^")
	if negated {
		i++
	}

	for ; i < len(text) && text[i] != ']'; i++ {
		first, last := text[i], text[i]
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			first, last = text[i], text[i]
		case i+2 < len(text) && text[i+1] == '-':
			// The end of a range may be any byte, even a closing bracket.
			first, last = min(text[i], text[i+2]), max(text[i], text[i+2])
			i += 2
		}

		matches = matches || first <= b && b <= last
	}

	return matches != negated, min(i+1, len(text))
}
