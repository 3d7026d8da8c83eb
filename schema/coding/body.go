package coding

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Body is the body of an answer. It is compressed when a client asks for that first, and
// kept so.
type Body struct {
	plain        []byte
	gzip, brotli once
}

// once is a body in one coding.
type once struct {
	sync.Once
	encoded []byte
}

func (o *once) get(c Coding, plain []byte) []byte {
	o.Do(func() { o.encoded = c.encode(plain) })
	return o.encoded
}

// NewBody returns a body of these bytes, which must not be changed.
func NewBody(plain []byte) *Body { return &Body{plain: plain} }

// Gunzip returns the body that was compressed with gzip.
func Gunzip(data []byte) (*Body, error) {
	b := &Body{}
	b.gzip.Do(func() { b.gzip.encoded = data })

	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		b.plain, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking a file: %w", err)
	}
	return b, nil
}

// in returns the body in a coding.
func (b *Body) in(c Coding) []byte {
	switch c {
	case Gzip:
		return b.gzip.get(c, b.plain)
	case Brotli:
		return b.brotli.get(c, b.plain)
	default:
		return b.plain
	}
}
