package quotes

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// An address that no mail server can accept is refused while the visitor can correct it. All
// others are accepted, also those that look odd.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	label := func(n int) string { return strings.Repeat("a", n) }

	for i, tt := range []struct {
		why, address string
		accepted     bool
	}{
		{"64 bytes before the @, the limit of RFC 5321", label(64) + "@client.example", true},
		{"65 bytes", label(65) + "@client.example", false},
		{"33 letters of two bytes", strings.Repeat("ș", 33) + "@client.example", false},
		{"a label of 63 bytes, the limit of RFC 1035", "ana@" + label(63) + ".example", true},
		{"a label of 64 bytes", "ana@" + label(64) + ".example", false},
		{"62 letters that DNS writes with 71", "ana@donaudampfschifffahrtsgesellschaftsdirektorenwitwenrentenämtér.example", false},
		{"a German letter that is not ss", "ana@faß.example", true},
		{"a domain in Cyrillic", "ana@пример.рф", true},
		{"a local part in Chinese", "安娜@client.example", true},
		{"its form in DNS", "ana@xn--fa-hia.example", true},
		{"DNS letters that stand for nothing", "ana@xn--a.example", false},
		{"a plus and dots", "ana.maria+quote@client.example", true},
		{"an apostrophe", "o'neill@client.example", true},
		{"a long domain of the world", "ana@client.photography", true},
		{"a domain that ends with a dot", "ana@client.example.", false},
		{"two dots", "ana@client..example", false},
		{"a hyphen at the end of a label", "ana@client-.example", false},
		{"an underscore", "ana@my_client.example", false},
		{"no dot", "ana@localhost", false},
		{"a half one", "ana@", false},
	} {
		for _, endpoint := range apptest.Endpoints {
			input := apptest.ValidLead(fmt.Sprintf("address-%d-%s", i, endpoint))
			input["contact"].(object)["email"] = tt.address
			got := s.SubmitThrough(endpoint, input)
			if (got.ID() != "") != tt.accepted || (got.Fields["contact.email"] == "") != tt.accepted {
				t.Errorf("%s: %q: %s", tt.why, tt.address, got)
			}
		}
	}
}
