package rest

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/operations"
)

// DescriptionPath is where the OpenAPI description is served.
const DescriptionPath = "/api/openapi.json"

// route is an operation with @rest.
type route struct {
	*operations.Operation
	method, path string                // segments {name} of the path are variables
	segments     []operations.Argument // variables from the path
	params       []operations.Argument // variables from the query string
	body         *body                 // nil if the route takes no body

	// sentAs maps an argument of the root field to the parameter that brings its value.
	// The parameter is empty if the value is the body.
	sentAs map[string]string

	headers  []string // request headers that the operation reads
	codes    []string // errors that only this route returns
	produces string   // media type of a download, empty for JSON
}

// pattern is what the mux finds the route by.
func (rt *route) pattern() string { return rt.method + " " + rt.path }

// guarded reports whether the schema restricts the root field to holders of a token.
func (rt *route) guarded() bool { return rt.Root.Definition.Directives.ForName("auth") != nil }

// allCodes lists the errors that a route can respond with, by status.
func (rt *route) allCodes() []schema.Code {
	var codes []schema.Code
	if rt.body != nil || len(rt.params)+len(rt.segments) > 0 {
		codes = append(codes, schema.CodeBadUserInput)
	}
	if rt.guarded() {
		codes = append(codes, schema.CodeUnauthenticated)
	}
	if !rt.Root.Definition.Type.NonNull {
		codes = append(codes, schema.CodeNotFound)
	}

	if rt.body != nil {
		codes = append(codes, schema.CodePayloadTooLarge, schema.CodeUnsupportedMediaType)
	}

	for _, code := range rt.codes {
		codes = append(codes, schema.Code(code))
	}

	// Every request can fail with these.
	return append(codes, schema.CodeRateLimited, schema.CodeInternal, schema.CodeUpstreamUnavailable)
}

// takesHints reports whether the body can have optional values that are dropped if they
// are unusable.
func (rt *route) takesHints() bool {
	if rt.body == nil {
		return false
	}
	return slices.ContainsFunc(rt.body.variables(), func(v operations.Argument) bool {
		return slices.ContainsFunc(v.Definition.Fields, func(f *ast.FieldDefinition) bool {
			return f.Directives.ForName("hint") != nil
		})
	})
}

// body is where a JSON body goes: to one variable, or its fields to several.
type body struct {
	variable *operations.Argument  // nil: the fields go to variables
	fields   []operations.Argument // named like the fields
	accepts  []string              // media types, the usual one first
	limit    int64                 // largest length in bytes
}

// variables lists the variables that a body brings.
func (b *body) variables() []operations.Argument {
	if b.variable != nil {
		return []operations.Argument{*b.variable}
	}
	return b.fields
}

// requestHeaders describes the request headers that a document can name in @rest(headers),
// each with an example.
func requestHeaders() map[string][2]string {
	return map[string][2]string{
		"Accept-Language": {
			"Languages the client prefers, where nothing else decides.",
			"ro, en;q=0.5",
		},

		"CF-Turnstile-Response": {
			"Token of the bot check in the visitor's browser, where the site has one.",
			"0.mF74FV8wEufAWxdbWQ",
		},

		"Idempotency-Key": {
			"A key of the client's for this request, up to 255 characters: " +
				"sent again with the same content it changes nothing.",
			"8e03978e-40d5-43e8-bc93-6894a57f9324",
		},

		"If-None-Match": {
			"Entity tags of the client's copies; if one is current the answer is 304.",
			`"3f2a"`,
		},

		"X-Preview": {
			"Perspective of the CMS, `drafts` or `<release>,drafts`, with a token of `PREVIEW_TOKENS`: " +
				"prices are those of drafts.",
			"drafts",
		},

		"Sanity-Webhook-Signature": {
			"Signature of the body, where the service has a signing secret.",
			"t=1700000000000,v1=kZ4Pz1",
		},
	}
}
