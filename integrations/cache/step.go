package cache

// stepKind tells the steps of a compiled pattern apart.
type stepKind uint8

const (
	oneByte  stepKind = iota // exactly the byte lit
	anyByte                  // any one byte
	anyBytes                 // any number of bytes, none included
	byteSet                  // any one byte of set
)

// step is one element of a compiled pattern.
type step struct {
	kind stepKind
	lit  byte
	set  *[4]uint64 // bit b%64 of word b/64 stands for byte b
}

// takes reports whether a step other than anyBytes matches one byte.
func (s step) takes(b byte) bool {
	switch s.kind {
	case oneByte:
		return s.lit == b
	case byteSet:
		return s.set[b/64]&(1<<(b%64)) != 0
	default:
		return true
	}
}

// compile turns a pattern into steps, reading it in the order Valkey does.
func compile(text string) []step {
	steps := make([]step, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*':
			if n := len(steps); n == 0 || steps[n-1].kind != anyBytes {
				steps = append(steps, step{kind: anyBytes})
			}
		case '?':
			steps = append(steps, step{kind: anyByte})
		case '[':
			var set *[4]uint64
			set, i = compileSet(text, i+1)
			steps = append(steps, step{kind: byteSet, set: set})
		case '\\':
			if i+1 < len(text) { // a backslash at the very end stands for itself
				i++
			}
			steps = append(steps, step{lit: text[i]})
		default:
			steps = append(steps, step{lit: text[i]})
		}
	}
	return steps
}

// compileSet reads a set whose first byte after the bracket is at i and returns it
// with the index of its last byte.
func compileSet(text string, i int) (*[4]uint64, int) {
	var set [4]uint64
	negated := i < len(text) && text[i] == '^'
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
			// The end of a range may be any byte, a closing bracket too.
			first, last = min(text[i], text[i+2]), max(text[i], text[i+2])
			i += 2
		}
		for b := int(first); b <= int(last); b++ {
			set[b/64] |= 1 << (b % 64)
		}
	}
	if negated {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	return &set, min(i, len(text)-1)
}
