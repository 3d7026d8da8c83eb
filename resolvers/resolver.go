// Package resolvers answers the fields of the schema. The generated *.resolvers.go files
// unpack the arguments of a field and call the package that implements it:
//
//   - quotes: the fields of the calculator
//   - quotepdf: the PDF of a lead
//   - leads: leads and what operators do with them
//   - operators: the audit, and the logins and names of operators
//   - funnel: what visitors do in the calculator
//
// The fields of the content, its cache, the webhook of the CMS and the checks are in this
// package itself. These packages are independent, with two exceptions: leads records in
// the audit of operators, and notifies the owner of a lead through leadmail, which
// attaches the PDF of quotepdf.
//
// The packages below them resolve no field: content, price, health, leadmail, and
// retention, the job that deletes expired data.
//
// Both endpoints, GraphQL (package graphqlhttp) and REST, run the resolvers through
// package executor, which also enforces the @auth directive of each field. It imports
// content for its errors; leads calls it to fit pages into a response.
package resolvers

import (
	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/resolvers/content"
	"siteapi/resolvers/funnel"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepage"
	"siteapi/resolvers/quotepdf"
	"siteapi/resolvers/quotes"
)

// Resolver is the root of all resolvers. The service sets all fields; a command sets only
// those that its operation needs.
type Resolver struct {
	Quotes    *quotes.Resolver
	PDFs      *quotepdf.Resolver
	Page      *quotepage.Resolver
	Leads     *leads.Resolver
	Operators *operators.Resolver
	Funnel    *funnel.Resolver

	Content *content.Service
	Cache   cache.Cache
	Checks  []health.Check // examined by serviceHealth
	Version string         // program version
	Log     zerolog.Logger

	Development bool // log likely mistakes in requests

	Webhooks *health.Webhooks // records the webhooks of the CMS
}
