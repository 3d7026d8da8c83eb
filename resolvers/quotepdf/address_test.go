package quotepdf

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/resolvers/content"
	"siteapi/schema"
)

// TestAddressLines prints addresses as the post of their country wants them: the postcode
// stands after the town in the United Kingdom and the United States, before it elsewhere.
func TestAddressLines(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		`{"street":"12 Lantern Yard","city":"London","zipCode":"SE1 0AA","country":"United Kingdom"}`:             "12 Lantern Yard|London SE1 0AA|United Kingdom",
		`{"street":"Unit 4\nThe Old Mill\r\n\n 12 Mill Lane ","city":"Leeds","zipCode":"LS1 1AA","country":"GB"}`: "Unit 4|The Old Mill|12 Mill Lane|Leeds LS1 1AA|GB",
		`{"city":"Springfield","zipCode":"62704","state":"Illinois","country":" u.s.a. "}`:                        "Springfield 62704|Illinois, u.s.a.",
		`{"city":"Boston","zipCode":"02108","country":"Estados  Unidos"}`:                                         "Boston 02108|Estados  Unidos",
		`{"city":"Londra","zipCode":"SE1","country":"Regatul Unit"}`:                                              "Londra SE1|Regatul Unit",
		`{"city":"Leeds","zipCode":"LS1","country":"Marea Britanie"}`:                                             "Leeds LS1|Marea Britanie",
		`{"city":"București","zipCode":"010101","country":"România"}`:                                             "010101 București|România",
		`{"city":"Madrid","zipCode":"28001","country":"España"}`:                                                  "28001 Madrid|España",
		`{"city":"Kyiv","zipCode":"01001","country":"Ukraine"}`:                                                   "01001 Kyiv|Ukraine", // begins with "uk"
		`{"city":"Sydney","zipCode":"2000","country":"Australia"}`:                                                "2000 Sydney|Australia",
		`{"city":"Berlin","zipCode":"10115"}`:                                                                     "10115 Berlin",
		`{"street":" \n ","zipCode":"1"}`:                                                                         "1",
	} {
		var shown schema.SiteSettings
		if err := json.Unmarshal([]byte(`{"address":`+address+`}`), &shown); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range companyLines(&content.Settings{Shown: &shown}, schema.LocaleEn) {
			got = append(got, line.Text)
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s: %q, want %q", address, text, want)
		}
	}
}
