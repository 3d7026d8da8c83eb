package schema

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// Caller identifies the client behind an operation. It is a value: a middleware that
// learns more about the client puts a changed copy into the context.
type Caller struct {
	RequestID string // accepted or made by the server, never empty at an endpoint
	Address   string // the client's IP address, as trusted proxies report it
	Header    http.Header
	Operators bool // The endpoint serves operator fields.
	// Preview is the perspective of the CMS that the caller reads, after its token was
	// verified: "drafts", or "<release>,drafts". Empty: what is published.
	Preview string

	Local bool // The request came to ADMIN_ADDR from the machine itself, through no proxy.

	// Operator is who calls an operator's field: the owner of a login at the inbox, or of a
	// token. It is empty until one of them was verified.
	Operator Operator

	// Renew returns an error once the login has ended, or its operator is another one. It is
	// nil without a login.
	Renew func(ctx context.Context) error

	// Body is the request body as it was received, for signatures. It is nil until the
	// endpoint has read it.
	Body []byte
}

// Operator is a person or a program that may use operators' fields.
type Operator struct {
	Actor string // the name in the audit of a token, an account or a command
	Role  Role   // empty: none

	// Email is the address of the account, in lower case, if its provider has verified it. It
	// is not in the audit or the log.
	Email string
}

// Name returns how other operators see the operator: by the verified address, or the name of
// the token's holder. It is empty if neither is known.
func (o Operator) Name() string {
	if name, ok := strings.CutPrefix(o.Actor, TokenPrefix); ok {
		return name
	}
	return o.Email
}

// OperatorToken is a token of operators, and who holds it.
type OperatorToken struct {
	Token string
	Operator
}

// Actors of the audit. Neither a token nor a command can be imitated by the subject of an
// account, which a provider may choose freely.
const (
	TokenActor    = "token"    // who holds a token of operators without a name
	TokenPrefix   = "token:"   // before the name of the holder of one with a name
	CommandPrefix = "command:" // before the user of the system who ran a command
	AccountPrefix = "oidc:"    // before the subject of an account
)

// AtLeast reports whether a role may do what another one may. Each role may do all that
// the ones before it may.
func (e Role) AtLeast(other Role) bool {
	return slices.Index(AllRole, e) >= slices.Index(AllRole, other)
}

// HoldsToken returns the place of the caller's token among those that are accepted, or -1. It
// compares digests of equal length, and always all of them, so that the time taken reveals
// nothing about a token.
func (c Caller) HoldsToken(accepted []string) int {
	token, match := c.Token(), -1
	sum := sha256.Sum256([]byte(token))
	for i, text := range accepted {
		other := sha256.Sum256([]byte(text))
		match = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], other[:]), i, match)
	}
	if token == "" {
		return -1
	}
	return match
}

// Token returns the bearer token of the Authorization header, or an empty text.
func (c Caller) Token() string {
	scheme, token, ok := strings.Cut(c.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// WithBody returns a context whose caller has sent this body.
func WithBody(ctx context.Context, body []byte) context.Context {
	c := CallerFrom(ctx)
	c.Body = body
	return WithCaller(ctx, c)
}

// CallerFrom returns the caller of a request. The caller is empty for an operation that
// the service itself starts.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
