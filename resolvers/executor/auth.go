package executor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/request"
)

// Secrets are the tokens and signing secrets that @auth accepts. A kind without tokens
// accepts no token.
type Secrets struct {
	Cache   []string
	Webhook []string
	Admin   []request.OperatorToken

	// Signing secrets verify webhooks; without any, a webhook needs no signature.
	Signing []string
}

// tokens returns the tokens of each kind.
func (s Secrets) tokens() map[schema.TokenKind][]string {
	all := map[schema.TokenKind][]string{
		schema.TokenKindCache:   s.Cache,
		schema.TokenKindWebhook: s.Webhook,
	}
	for _, operator := range s.Admin {
		all[schema.TokenKindAdmin] = append(all[schema.TokenKindAdmin], operator.Token)
	}
	return all
}

// auth implements @auth.
func (e *Executor) auth(
	ctx context.Context, _ any, next graphql.Resolver, kind schema.TokenKind, role *schema.Role,
) (any, error) {
	caller := request.CallerFrom(ctx)
	operator, err := e.authorize(caller, kind)
	if err != nil {
		return nil, err
	}
	least := schema.ValueOr(role, schema.RoleAdmin)
	if kind == schema.TokenKindAdmin && !operator.Role.Includes(least) {
		return nil, schema.NeedsRole(least)
	}
	caller.Operator = operator
	return next(request.WithCaller(ctx, caller))
}

// personal implements @personal: a viewer gets null, or for the id of a lead its
// reference.
func (e *Executor) personal(ctx context.Context, parent any, next graphql.Resolver) (any, error) {
	caller := request.CallerFrom(ctx)
	if !caller.Operators || caller.Operator.Role == "" { // @auth has verified the operator of most parents
		operator, err := e.authorize(caller, schema.TokenKindAdmin)
		if err != nil {
			return nil, err
		}
		caller.Operator = operator
		ctx = request.WithCaller(ctx, caller)
	}

	if caller.Operator.Role.SeesPersonal() {
		return next(ctx)
	}
	if lead, ok := parent.(*schema.Lead); ok && graphql.GetFieldContext(ctx).Field.Name == "id" {
		return lead.Reference, nil
	}
	return nil, nil //nolint:nilnil // null is the value
}

// tokenKind returns the kind of token that a field's @auth requires, or false without
// @auth.
func tokenKind(field *ast.FieldDefinition) (kind schema.TokenKind, guarded bool) {
	if field == nil {
		return "", false
	}
	d := field.Directives.ForName("auth")
	if d == nil {
		return "", false
	}
	return schema.TokenKind(d.Arguments.ForName("token").Value.Raw), true
}

// authorize returns the authenticated operator. It fails with UNAUTHENTICATED unless the
// caller has a token of this kind or, for operator fields, a login. If signing secrets
// are set, a webhook must also be signed.
func (e *Executor) authorize(caller request.Caller, kind schema.TokenKind) (request.Operator, *schema.Error) {
	operator, err := e.checkToken(caller, kind)
	if err == nil && kind == schema.TokenKindWebhook && len(e.Secrets.Signing) > 0 {
		err = e.verifySignature(caller.Header.Get("Sanity-Webhook-Signature"), caller.Body)
	}
	return operator, err
}

// checkToken checks the token or login, but not the signature of a webhook.
func (e *Executor) checkToken(
	caller request.Caller, kind schema.TokenKind,
) (request.Operator, *schema.Error) {
	match := caller.HoldsToken(e.tokens[kind])
	allowed := match >= 0
	if kind == schema.TokenKindPreview {
		allowed = caller.Preview != "" // verified before the request was routed
	}
	operator := caller.Operator // has no role without a login
	if kind == schema.TokenKindAdmin {
		if allowed {
			operator = e.Secrets.Admin[match].Operator
		}
		allowed = caller.Operators && operator.Role != ""
	}

	if !allowed {
		e.refused(kind, "token")
		return request.Operator{}, schema.NewError(schema.CodeUnauthenticated,
			"A valid token is required: Authorization: Bearer <token>.")
	}
	return operator, nil
}

// refused logs and counts a rejected webhook: rejections delay published content.
func (e *Executor) refused(kind schema.TokenKind, reason string) {
	if kind != schema.TokenKindWebhook {
		return
	}
	e.Log.Warn().Str("reason", reason).Msg("rejected a CMS webhook")
	if e.RecordWebhook != nil {
		e.RecordWebhook("refused_" + reason)
	}
}

// signatureTolerance is how far the time of a signature may differ from that of the
// service.
const signatureTolerance = 5 * time.Minute

// signatureForm matches Sanity's header: t=<unix milliseconds>,v1=<signature>.
var signatureForm = regexp.MustCompile(`^t=(\d{1,15})[, ]+v1=([^, ]+)$`)

// verifySignature returns UNAUTHENTICATED unless the header `sanity-webhook-signature` proves that
// one of the secrets signed exactly this body within signatureTolerance.
func (e *Executor) verifySignature(header string, body []byte) *schema.Error {
	refused := schema.NewError(schema.CodeUnauthenticated, "The webhook signature is missing or not valid.")

	m := signatureForm.FindStringSubmatch(header)
	if m == nil || !slices.ContainsFunc(e.Secrets.Signing, func(secret string) bool {
		return hmac.Equal([]byte(sign(secret, m[1], body)), []byte(m[2]))
	}) {
		e.refused(schema.TokenKindWebhook, "signature")
		return refused
	}

	ms, _ := strconv.ParseInt(m[1], 10, 64) // at most 15 digits
	if age := time.Since(time.UnixMilli(ms)); age.Abs() > signatureTolerance {
		refused.Message = "The webhook signature is more than five minutes old or from the future: " +
			"check the clocks."
		e.refused(schema.TokenKindWebhook, "clock")
		return refused
	}
	return nil
}

func sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
