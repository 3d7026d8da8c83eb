package resolvers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// guard decides who may execute a field that the schema marks with @auth.
type guard struct {
	tokens map[schema.TokenKind][][sha256.Size]byte
	sign   *signatures // nil: webhooks need no signature
}

func newGuard(r *Resolver) *guard {
	g := &guard{tokens: map[schema.TokenKind][][sha256.Size]byte{
		schema.TokenKindCache:   digests(r.CacheTokens),
		schema.TokenKindWebhook: digests(r.WebhookSecrets),
		schema.TokenKindAdmin:   digests(r.AdminTokens),
	}}
	if len(r.SigningSecrets) > 0 {
		g.sign = &signatures{secrets: r.SigningSecrets, now: r.Now}
	}
	return g
}

func digests(tokens []string) [][sha256.Size]byte {
	sums := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		sums[i] = sha256.Sum256([]byte(token))
	}
	return sums
}

// directive is the implementation of @auth.
func (g *guard) directive(ctx context.Context, _ any, next graphql.Resolver, kind schema.TokenKind) (any, error) {
	if err := g.allow(ctx, kind); err != nil {
		return nil, err
	}
	return next(ctx)
}

// allow returns UNAUTHENTICATED unless the caller holds a token of the kind. Digests of
// equal length are compared, all of them, so the time taken tells nothing of a token.
func (g *guard) allow(ctx context.Context, kind schema.TokenKind) error {
	caller := schema.CallerFrom(ctx)
	if err := g.allowToken(caller, kind); err != nil {
		return err
	}
	if kind == schema.TokenKindWebhook && g.sign != nil {
		return g.sign.verify(caller.Signature, caller.Body)
	}
	return nil
}

func (g *guard) allowToken(caller *schema.Caller, kind schema.TokenKind) error {
	sum := sha256.Sum256([]byte(caller.Bearer))
	match := 0
	for _, accepted := range g.tokens[kind] {
		match |= subtle.ConstantTimeCompare(sum[:], accepted[:])
	}
	allowed := match == 1 && caller.Bearer != ""
	if kind == schema.TokenKindAdmin {
		allowed = caller.Operator && (allowed || caller.Session && len(g.tokens[kind]) > 0)
	}
	if !allowed {
		return &schema.Error{
			Code: schema.CodeUnauthenticated, Message: "A valid token is required: Authorization: Bearer <token>.",
		}
	}
	return nil
}

// allowField returns UNAUTHENTICATED where a field's @auth refuses the caller. Before the
// body has been read, when it is nil, only the token is checked.
func (g *guard) allowField(ctx context.Context, def *ast.FieldDefinition) error {
	if def == nil {
		return nil
	}
	d := def.Directives.ForName("auth")
	if d == nil {
		return nil
	}
	kind := schema.TokenKind(d.Arguments.ForName("token").Value.Raw)
	if caller := schema.CallerFrom(ctx); caller.Body == nil {
		return g.allowToken(caller, kind)
	}
	return g.allow(ctx, kind)
}
