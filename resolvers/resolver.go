// Package resolvers has the root fields of the schema. Each is a method of the package of
// its noun, with the name of the field:
//
//   - quotes: the fields of the calculator
//   - quotepdf, quotepage: the PDF of a lead, and the same as a page
//   - leads: leads and what operators do with them
//   - operators: the audit, and the logins and names of operators
//   - funnel: what visitors do in the calculator
//
// The fields of the content, its cache, the webhook of the CMS and the checks are in this
// package itself. These packages are independent, with three exceptions: leads records in
// the audit of operators, and notifies the owner of a lead through leadmail, which
// attaches the PDF of quotepdf; quotepage shows what quotepdf prints.
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

// The types of the packages are all called Resolver, and Go names an embedded field by its
// type: these aliases make the names differ. They are not called Leads or Funnel because a
// field of that name would hide the method.
type (
	// QuotesResolver has the visitors' fields.
	QuotesResolver = quotes.Resolver
	// QuotePDFResolver has the PDF of a quote.
	QuotePDFResolver = quotepdf.Resolver
	// QuotePageResolver has the page of a quote.
	QuotePageResolver = quotepage.Resolver
	// LeadsResolver has all that is done with leads.
	LeadsResolver = leads.Resolver
	// OperatorsResolver has the audit and the logins.
	OperatorsResolver = operators.Resolver
	// FunnelResolver has the funnel.
	FunnelResolver = funnel.Resolver
)

// Resolver has all root fields by embedding the resolvers of the packages: a field of the
// schema without a method does not compile. The service sets all members; a command sets
// only those that its operation needs.
type Resolver struct {
	*QuotesResolver
	*QuotePDFResolver
	*QuotePageResolver
	*LeadsResolver
	*OperatorsResolver
	*FunnelResolver
	SiteResolver
}

// SiteResolver resolves the fields of the content, its cache, the webhook of the CMS and the
// checks.
type SiteResolver struct {
	Site    *content.Service
	Cache   cache.Cache
	Checks  []health.Check // examined by serviceHealth
	Version string         // program version
	Log     zerolog.Logger

	Webhooks *health.Webhooks // records the webhooks of the CMS
}
