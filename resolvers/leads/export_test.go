package leads

import (
	"context"
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
	"siteapi/schema/request"
)

// oneLead resolves only lists of leads, always with the same lead.
type oneLead struct {
	exec.ResolverRoot
	lead *lead.Lead
}

// Query implements [exec.ResolverRoot].
func (o *oneLead) Query() exec.QueryResolver { return listOf{root: o} }

// Lead implements [exec.ResolverRoot].
func (o *oneLead) Lead() exec.LeadResolver { return linksOf{} }

type listOf struct {
	exec.QueryResolver
	root *oneLead
}

// Leads implements [exec.QueryResolver].
func (l listOf) Leads(
	context.Context, *schema.LeadFilter, schema.LeadSort, *int, *string, bool,
) (*schema.LeadConnection, error) {
	return &schema.LeadConnection{
		Edges:    []*schema.LeadEdge{{Node: newLead(*l.root.lead)}},
		PageInfo: &schema.PageInfo{},
	}, nil
}

type linksOf struct{ exec.LeadResolver }

// Links implements [exec.LeadResolver].
func (linksOf) Links(_ context.Context, of *schema.Lead) (*schema.LeadLinks, error) {
	return &schema.LeadLinks{Quote: of.QuoteURL, PDF: of.PDFURL}, nil
}

// An export has every field of a lead: without its value the entry differs.
func TestExportHasEveryField(t *testing.T) {
	t.Parallel()
	all, err := operations.All()
	if err != nil {
		t.Fatal(err)
	}
	op := all[slices.IndexFunc(all, func(op *operations.Operation) bool { return op.Name == "ExportLeads" })]
	root := &oneLead{}
	e := executor.New(executor.Options{
		Resolvers:   root,
		ContentSize: func() int { return 0 },
		Operations:  all,
	})
	ctx := request.WithCaller(t.Context(), request.Caller{
		Operators: true,
		Operator:  request.Operator{Role: schema.RoleAdmin},
	})
	entry := func(l *lead.Lead) string {
		// Only a line of a choice with a quantity has a unit price.
		if q := l.Selections.Quantities; len(q) > 0 && q[0].Slug != "" && l.Price != nil && len(l.Price.Lines) > 0 {
			q[0].Slug = l.Price.Lines[0].Slug
		}
		root.lead = l
		value, _, problem := op.Run(ctx, e, map[string]any{})
		if problem != nil { // a field that the API requires
			return problem.Message
		}
		return string(value)
	}

	// A field of the request, and a state that another one hides.
	hidden := []string{"trace", "rejected"}
	whole := entry(leadtest.Filled())
	if !strings.Contains(whole, "contact.email") {
		t.Fatal(whole)
	}
	leadtest.Fill(new(lead.Lead), func(path string) {
		if slices.Contains(hidden, path) || strings.HasPrefix(path, "-") {
			return
		}
		if entry(leadtest.Without(path)) == whole {
			t.Errorf("schema/operations/leads_export.graphql does not select %s", path)
		}
	})
}
