package coding

import "sync"

// Body is the body of an answer. It is compressed when a client asks for that first, and
// kept so.
type Body struct {
	plain        []byte
	gzip, brotli func() []byte
}

// NewBody returns a body of these bytes, which are never changed.
func NewBody(plain []byte) *Body {
	return &Body{
		plain:  plain,
		gzip:   sync.OnceValue(func() []byte { return Gzip.Encode(plain) }),
		brotli: sync.OnceValue(func() []byte { return Brotli.Encode(plain) }),
	}
}

// In returns the body in a coding.
func (b *Body) In(c Coding) []byte {
	switch c {
	case Gzip:
		return b.gzip()
	case Brotli:
		return b.brotli()
	default:
		return b.plain
	}
}
