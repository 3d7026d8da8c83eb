// Package resolvers answers the fields of the schema. The generated *.resolvers.go files take
// the arguments of a field apart and call the package that the field belongs to:
//
//   - quotes: what visitors do in the calculator
//   - quotepdf: the PDF of a lead
//   - operators: what operators see and do, on top of package leads
//   - this package: the content, its cache, the webhook of the CMS and the checks
//
// These packages don't know each other, except that operators has leadmail tell an owner of
// leads, and leadmail attaches what quotepdf draws. Below them are content, price, leads and
// live, which know nothing of fields. Package retention is called by no field: it is the job
// that deletes what is too old.
//
// Both endpoints, GraphQL and REST, run the resolvers through package executor, which also
// checks who may ask for a field: its @auth in the SDL says so.
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

// Resolver is the root of all resolvers. All of its fields are required.
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
