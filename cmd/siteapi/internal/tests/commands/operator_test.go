package commands

import (
	"siteapi/cmd/siteapi/internal/apptest"
)

// pdf returns the status of a lead's PDF.
func pdf(s *apptest.Site, id string) int {
	s.T.Helper()
	resp, err := apptest.HTTP.Get(s.Base + "/api/quote/pdf?id=" + id)
	must(s.T, err)
	_ = resp.Body.Close()
	return resp.StatusCode
}
