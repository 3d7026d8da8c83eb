package deliveries

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/upstream/faulttest"
)

// What a visitor submits never changes the personal properties of an existing contact. No
// data of a lead in review reaches the CRM.
func TestVisitorWithACustomersAddress(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	s := apptest.Start(t, stubs.Env()...)

	customer := map[string]string{
		"email":     "customer@example.com",
		"firstname": "Maria",
		"company":   "Customer SA",
	}
	stubs.CRM.Add(customer, time.Now())

	const asCustomer = `"contact": {"email": "customer@example.com"}`
	s.Submit("review", asCustomer, `"website": "https://spam.example", "consents": [{"purpose": "news-review", "given": true}]`)
	id := s.Submit("stranger", asCustomer, `"consents": [{"purpose": "news-stranger", "given": true}]`)
	s.Reaches(id, "crm", "delivered")

	contact := stubs.CRM.Contact("customer@example.com")
	for name, want := range map[string]string{
		"firstname":               "Maria",
		"lastname":                "",
		"phone":                   "",
		"company":                 "Customer SA",
		"quote_contact_created":   "",
		"quote_contact_firstname": "Ana",
		"quote_contact_company":   "Țară SRL",
		"quote_submission_id":     id,
		"quote_consents":          "news-stranger: given, not to the site's wording",
	} {
		if got := contact[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// Each accepted lead is one deal, even if the process is killed between contact and deal,
// or while HubSpot creates the deal. A lead in review has none. A stage that people chose
// before the retry stays.
func TestDealPerLead(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t, "HUBSPOT_DEAL_STAGE=Sales Pipeline/Appointment Scheduled")
	crm := s.Stubs.CRM
	s.Start()

	s.Submit("review", `"website": "https://spam.example"`)

	ids := []string{s.Submit("ana")}
	s.Arrives(ids[0])
	for _, fault := range []faulttest.Fault{
		faulttest.Of(faulttest.Hang).On("PATCH /deals"), // between contact and deal
		faulttest.Of(faulttest.Hang).On("POST /deals").AfterActing(),
		faulttest.Of(faulttest.Hang).On("PUT /associations"),
	} {
		crm.Fail(fault)
		ids = append(ids, s.Submit(fmt.Sprint("kill-", len(ids))))
		apptest.Eventually(t, "HubSpot hangs", func() bool {
			hanging := 0
			for _, r := range crm.Requests() {
				hanging += len(r.Fault[:min(1, len(r.Fault))])
			}
			return hanging == len(ids)-1
		})
	}
	for _, id := range ids {
		s.Reaches(id, "sales_mail", "delivered") // one that is being sent would wait for an hour
	}
	if err := s.End(syscall.SIGKILL); err == nil {
		t.Fatal("the process was not killed")
	}

	crm.Edit(ids[2], map[string]string{"dealstage": "qualifiedtobuy"}, time.Now())
	s.Start()
	for _, id := range ids {
		s.Arrives(id)
	}

	stages := map[string]string{}
	for _, deal := range crm.Deals() {
		stages[deal.Properties["quote_submission_id"]] = deal.Properties["dealstage"]
		if len(deal.Contacts) != 1 || !strings.HasSuffix(deal.Properties["dealname"], " · Web application") {
			t.Errorf("%+v", deal)
		}
	}
	if n := len(crm.Deals()); n != len(ids) || !maps.Equal(stages, map[string]string{
		ids[0]: "appointmentscheduled",
		ids[1]: "appointmentscheduled",
		ids[2]: "qualifiedtobuy",
		ids[3]: "appointmentscheduled",
	}) {
		t.Errorf("%d deals: %v", n, stages)
	}
}
