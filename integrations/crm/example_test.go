package crm_test

import (
	"fmt"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
)

// A driver writes only what changes. The name that a contact has stays.
func ExampleChanges() {
	l := &lead.Lead{
		ID:         "f81d4fae-7dec-41d0",
		Contact:    lead.Contact{FirstName: "Ana", LastName: "Ionescu", Email: "Ana@Example.com"},
		Selections: lead.Selections{ProjectType: "web-app"},
	}

	created := crm.Changes(crm.Contact{Lead: l}, nil)
	fmt.Println(created["email"], created["firstname"])

	l.Contact.FirstName = "Ana Maria"
	fmt.Println(crm.Changes(crm.Contact{Lead: l}, created))

	// Output:
	// ana@example.com Ana
	// map[quote_contact_firstname:Ana Maria]
}
