package lead_test

import (
	"fmt"

	"siteapi/integrations/lead"
)

// Visitors and sales name a lead by its reference, which its PDF shows.
func ExampleReference() {
	l := lead.Lead{ID: "f81d4fae-7dec-41d0"}
	fmt.Println(lead.Reference(l.ID))
	fmt.Println(l.PDFPath())

	// Output:
	// F81D4FAE
	// /api/quote/pdf?id=f81d4fae-7dec-41d0
}
