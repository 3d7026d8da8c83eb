package crm_test

import (
	"fmt"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
)

// A driver writes only what changes. A telephone number that the lead does not name stays.
func ExampleChanges() {
	l := &lead.Lead{
		ID:         "f81d4fae-7dec-41d0",
		Contact:    lead.Contact{FirstName: "Ana", LastName: "Ionescu", Email: "Ana@Example.com"},
		Selections: lead.Selections{ProjectType: "web-app"},
	}

	contact := map[string]string{}
	created := crm.Changes(crm.Contact{Lead: l}, contact)
	fmt.Println(created["email"], created["firstname"])

	created["phone"] = "+40 21 555 0100"
	l.Contact.FirstName = "Ana Maria"
	fmt.Println(crm.Changes(crm.Contact{Lead: l}, created))

	// Output:
	// ana@example.com Ana
	// map[firstname:Ana Maria]
}
