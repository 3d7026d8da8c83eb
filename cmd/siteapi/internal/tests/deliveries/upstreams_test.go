package deliveries

import (
	"siteapi/cmd/siteapi/internal/apptest"
)

// faults counts the requests that were made to fail.
func faults(f *apptest.Vendors) (inCMS, inCRM int) {
	for _, r := range f.CMS.Requests() {
		if r.Fault != "" && r.API == "mutate" {
			inCMS++
		}
	}
	for _, r := range f.CRM.Requests() {
		if r.Fault != "" {
			inCRM++
		}
	}
	return inCMS, inCRM
}
