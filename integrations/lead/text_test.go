package lead_test

import (
	"testing"

	"siteapi/integrations/lead"
)

// TestTelephoneLink has the ways in which people write numbers. A link that dials another
// number is worse than none.
func TestTelephoneLink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, typed, want string }{
		{"plain international", "+40 721 000 000", "tel:+40721000000"},
		{"British with the trunk zero", "+44 (0)20 7946 0018", "tel:+442079460018"},
		{"German without blanks", "+49(0)30-123456", "tel:+4930123456"},
		{"brackets and blanks", "+44 [ 0 ] 20.7946.0018", "tel:+442079460018"},
		{"the code in parentheses", "(+44) (0)20 7946 0018", "tel:+442079460018"},
		{"an international prefix with the trunk zero", "0044 (0)20 7946 0018", "tel:00442079460018"},
		{"an area code in parentheses stays", "(020) 7946 0018", "tel:02079460018"},
		{"a national trunk zero stays", "(0) 20 7946 0018", "tel:02079460018"},
		{"an Italian zero belongs to the number", "+39 06 1234567", "tel:+39061234567"},
		{"also in parentheses", "+39 (06) 1234567", "tel:+39061234567"},
		{"also as abroad", "0039 (0)6 1234567", "tel:0039061234567"},
		{"an Ivorian prefix of 2021", "+225 (07) 12 34 56 78", "tel:+2250712345678"},
		{"a German area code with the trunk zero", "+49 (030) 123456", "tel:+4930123456"},
		{"a British one", "(+44) (020) 7946 0018", "tel:+442079460018"},
		{"a Romanian mobile number", "+40 (0721) 000 000", "tel:+40721000000"},
		{"the zero is part of Romania's +40", "+4 (0)721 000 000", "tel:+40721000000"},
		{"a label with a number", "Tel 1: 0721 000 000", ""},
		{"opening hours before it", "24/7: 0721 000 000", ""},
		{"a time after it", "0721 000 000 - 9:00", ""},
		{"another time after it", "0721 000 000 @ 9", "tel:0721000000"},
		{"an extension of a conference", "+1 555 010 0199 ext 123456789", "tel:+15550100199;ext=123456789"},
		{"national", "0721 000 000", "tel:0721000000"},
		{"an emergency number", "112", "tel:112"},

		{"an extension", "+1 (555) 010-0199 ext. 45", "tel:+15550100199;ext=45"},
		{"an extension with x", "555-010-0199 x45", "tel:5550100199;ext=45"},
		{"an extension after a number sign", "020 7946 0018 #7", "tel:02079460018;ext=7"},
		{"an extension by RFC 3966", "+442079460018;ext=45", "tel:+442079460018;ext=45"},
		{"a Spanish extension", "+34 912 345 678, extensión 12", "tel:+34912345678;ext=12"},
		{"a Romanian extension", "021 555 0123 (int. 104)", "tel:0215550123;ext=104"},

		{"two numbers with a slash", "0721 000 000/0722 000 000", "tel:0721000000"},
		{"two numbers with a comma", "+40 721 000 000, +40 722 000 000", "tel:+40721000000"},
		{"two numbers with a word", "0721 000 000 sau 0722 000 000", "tel:0721000000"},
		{"two numbers with a plus", "+40 721 000 000 +40 722 000 000", "tel:+40721000000"},
		{"two lines", "0721 000 000\n0722 000 000", "tel:0721000000"},
		{"two numbers with a dash", "0721 000 000 - 0722 000 000", ""},
		{"two numbers and an extension of the second", "0721 000 000 / 021 555 0123 int. 4", "tel:0721000000"},
		{"an area code with a slash", "030/1234567", "tel:0301234567"},
		{"a note after the number", "0721 000 000 (after 5 pm)", "tel:0721000000"},
		{"a time after the number", "0721 000 000 (9-17h)", "tel:0721000000"},
		{"a label before it", "Tel.: +44 20 7946 0018", "tel:+442079460018"},

		{"Arabic digits", "+٩٦٦ ٥٠ ١٢٣ ٤٥٦٧", "tel:+966501234567"},
		{"Persian digits", "۰۲۱-۱۲۳۴۵۶۷۸", "tel:02112345678"},
		{"Devanagari digits", "०११ २३४५ ६७८९", "tel:01123456789"},
		{"full-width digits and signs", "＋８１（０）３−１２３４−５６７８", "tel:+81312345678"},
		{"directional marks", "\u202d+40 721\u202c 000 000", "tel:+40721000000"},

		{"letters of a keypad", "1-800-FLOWERS", ""},
		{"a place within the number", "020 (London) 7946 0018", ""},
		{"no number", "call me", ""},
		{"nothing", "", ""},
	} {
		if got := lead.TelephoneLink(tt.typed); got != tt.want {
			t.Errorf("%s: %q links %q, want %q", tt.why, tt.typed, got, tt.want)
		}
	}
}
