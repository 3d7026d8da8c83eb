package quotes

import (
	"fmt"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema"
)

// What people paste is accepted without the marks that nobody sees, and with those that
// their script or emoji needs.
func TestTypedTexts(t *testing.T) {
	t.Parallel()
	const scotland = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
	s := apptest.Start(t)

	for i, tt := range []struct{ why, field, sent, want string }{
		{"a directional override, copied from a contact list", "firstName", "\u202aAna\u202c", "Ana"},
		{"an isolate, copied from a chat", "lastName", "\u2068Ionescu\u2069", "Ionescu"},
		{"a byte order mark, from a CSV file", "company", "\ufeffLumen SRL", "Lumen SRL"},
		{"a zero-width space, from a web page", "company", "Lumen SRL\u200b \u200b", "Lumen SRL"},
		{"a right-to-left mark after an address", "email", "ana@lumen.example\u200f", "ana@lumen.example"},
		{"an address in angle-free text with blanks", "email", "\t\u00a0ana@lumen.example\r\n", "ana@lumen.example"},
		{"a selector after an address in Cyrillic", "email", "ana@пример.рф\ufe0f", "ana@пример.рф"},
		{"a number that iOS Contacts wraps", "phone", "\u202d+40 721\u200e 000\u00a0000\u202c", "+40 721 000 000"},
		{"a joiner within a number", "phone", "+40721\u200d000\u200c000", "+40721000000"},
		{"a number of 32 characters with marks", "phone", "\u2066+" + strings.Repeat("4\u200b", 31) + "\u2069",
			"+" + strings.Repeat("4", 31)},
		{"a Persian name", "firstName", "علی\u200cرضا", "علی\u200cرضا"},
		{"a Sinhala honorific", "firstName", "ශ්\u200dරී", "ශ්\u200dරී"},
		{"a Malayalam name that ends with a joiner", "firstName", "മോഹന്\u200d \u200d", "മോഹന്\u200d"},
		{"a Japanese name with a variant", "lastName", "辻\U000e0100", "辻\U000e0100"},
		{"a tab between names, from a spreadsheet", "firstName", "Ana\tMaria", "Ana Maria"},
		{"a vertical tab, from a slide", "company", "Lumen\vStudio", "Lumen Studio"},
		{"a form feed and a next line", "company", "\fLumen\u0085Studio", "Lumen Studio"},
		{"an end-of-text character, from a slide", "lastName", "Io\u0003nescu", "Ionescu"},
		{"a Windows quotation mark read as Latin-1", "company", "\u0093Lumen\u0094", "Lumen"},
		{"hidden tags for a model", "firstName", "Ana\U000e0069\U000e0067\U000e006e\U000e006f", "Ana"},
		{"tags after a flag that has none", "company", "\U0001f3f4\U000e0069\U000e007f Lumen", "\U0001f3f4 Lumen"},
		{"the flag of Scotland at the end", "company", "Lumen " + scotland, "Lumen " + scotland},
		{"a family and a heart", "message", "👩\u200d👩\u200d👧 ❤\ufe0f\u200b", "👩\u200d👩\u200d👧 ❤\ufe0f"},
		{"a message from a slide", "message", "One\vtwo\u0003\r\n\u202bthree\u202c", "One two\n\u202bthree"},
		{"a separator of lines", "message", "One\u2028two\u2029", "One two"},
		{"hidden tags in a message", "message", "Hello\U000e0041\U000e007f world", "Hello world"},
	} {
		for _, endpoint := range apptest.Endpoints {
			input := apptest.ValidLead(fmt.Sprintf("typed-%d-%s", i, endpoint))
			contact, _ := input["contact"].(object)
			if tt.field == "message" {
				input["message"] = tt.sent
			} else {
				contact[tt.field] = tt.sent
			}

			id := s.MustSubmit(endpoint, input)
			l := s.ShowLead(id)
			stored := map[string]string{
				"firstName": l.Contact.FirstName,
				"lastName":  l.Contact.LastName,
				"email":     l.Contact.Email,
				"phone":     l.Contact.Phone,
				"company":   l.Contact.Company,
				"message":   schema.ValueOr(l.Message, ""),
			}
			if stored[tt.field] != tt.want {
				t.Errorf("%s: %+q is stored as %+q, want %+q", tt.why, tt.sent, stored[tt.field], tt.want)
			}
		}
	}
}
