package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// silentCRM stores nothing that can be found. Its ping fails with an error if there is one.
type silentCRM struct {
	systems.CRM
	ping error
}

func (c silentCRM) Ping(context.Context) error { return c.ping }

func (silentCRM) Missing(context.Context, []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}

func (silentCRM) FindDeals(context.Context, []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}

func (silentCRM) EraseDeals(context.Context, crm.Erasure) ([]crm.Erased, error) {
	return nil, errors.ErrUnsupported
}

func (silentCRM) EraseContacts(context.Context, crm.Erasure) ([]crm.Erased, error) {
	return nil, errors.ErrUnsupported
}

// With a CRM driver that stores nothing, an erasure and a verification succeed, and do
// not claim to have found anything there.
func TestCRMThatStoresNothing(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	s.Arrives(s.Submit("ana"))
	s.Stop(t)

	open := s.Opener()
	db, err := open.Database(t.Context())
	must(t, err)
	defer db.Close()
	contacts, err := open.CRM()
	must(t, err)
	documents, err := open.CMS()
	must(t, err)
	own := open.Leads(db, leads.Resolver{
		CMS:       documents,
		CRM:       silentCRM{CRM: contacts},
		ClearPDFs: func(context.Context) (int, error) { return 0, nil },
	})

	sum, err := own.VerifyDeliveries(t.Context(), nil, new(lead.CRM), false)
	if err != nil || sum.Leads != 1 || sum.Missing != 0 || sum.Failed != 0 {
		t.Errorf("the verification: %v %+v", err, sum)
	}

	receipt, err := own.EraseLeads(t.Context(), new("ana@example.com"), nil, false)
	if err != nil || !receipt.Complete {
		t.Fatalf("the erasure: %v %+v", err, receipt)
	}
	detail := ""
	for _, p := range receipt.Places {
		if p.Place == schema.ErasurePlaceNameCrm {
			detail = schema.ValueOr(p.Detail, "")
		}
	}
	if !strings.Contains(detail, "its driver stores nothing") {
		t.Errorf("the receipt says of the CRM: %q", detail)
	}

	for _, tt := range []struct {
		ping  error
		state schema.HealthState
		words string
	}{
		{nil, schema.HealthStateWarning, "stores nothing"},
		{errors.New("the key was revoked"), schema.HealthStateFailed, "the key was revoked"},
	} {
		checks := open.Checks(health.Dependencies{
			CRM: func() (health.CRM, error) { return silentCRM{contacts, tt.ping}, nil },
		})
		only := slices.DeleteFunc(checks, func(c health.Check) bool { return c.Name != "crm" })
		found := health.Examine(t.Context(), only)[0]
		if found.State != tt.state || !strings.Contains(*found.Detail, tt.words) {
			t.Errorf("with the ping %v, the doctor reports: %+v", tt.ping, found)
		}
	}
}
