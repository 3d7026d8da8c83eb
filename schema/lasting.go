package schema

import "context"

// Lasting lets a resolver tell its door that the answer may be given again without
// asking. Such an answer depends on nothing but the operation's variables and the
// caller's AcceptLanguage. A door that keeps answers puts one into the context.
type Lasting struct {
	// Stands reports whether the answer is still the one that would be given. It is asked
	// before each repetition, so it is quick. Nil: the answer is given once.
	Stands func() bool
	// Negotiated reports that the caller's AcceptLanguage decided on the answer.
	Negotiated bool
}

type lastingKey struct{}

// WithLasting returns a context in which a resolver finds l.
func WithLasting(ctx context.Context, l *Lasting) context.Context {
	return context.WithValue(ctx, lastingKey{}, l)
}

// LastingFrom returns the door's; where the door keeps nothing, one that nobody reads.
func LastingFrom(ctx context.Context) *Lasting {
	if l, ok := ctx.Value(lastingKey{}).(*Lasting); ok {
		return l
	}
	return &Lasting{}
}
