// Package resolvers answers the fields of the schema. The generated *.resolvers.go files take
// the arguments of a field apart and call the package that the field belongs to:
//
//   - quotes: what visitors do in the calculator
//   - quotepdf: the PDF of a lead
//   - operators: what operators see and do, by the rules of package leads
//
// The fields of the content, its cache, the webhook of the CMS and the checks are in this
// package itself. Packages quotes, quotepdf and operators don't know each other, except that
// operators has leadmail tell an owner of leads, and leadmail attaches what quotepdf draws.
//
// The packages below them resolve no field. content, leads and health build on price, and
// health on content and leads, too; apierror builds on content, leadmail on content and
// quotepdf; price and live build on none. Package retention is called by no field: it is the
// job that deletes what is too old.
//
// Both endpoints, GraphQL (package graphqlhttp) and REST, run the resolvers through package
// executor, which also checks who may ask for a field: its @auth in the SDL says so. It knows
// none of the packages above; operators asks it how much of a page fits into an answer.
package resolvers

import (
	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/quotes"
)

// Resolver is the root of all resolvers. The service sets all of its fields; a command sets
// those that its operation needs.
type Resolver struct {
	Quotes    *quotes.Resolver
	PDFs      *quotepdf.Resolver
	Operators *operators.Resolver

	Content *content.Service
	Cache   cache.Cache
	Checks  []health.Check // examined by serviceHealth
	Version string         // version of the program
	Log     zerolog.Logger

	Development bool // log likely mistakes in requests

	// Count counts events, such as "webhook", by an outcome.
	Count func(event, detail string)
}
