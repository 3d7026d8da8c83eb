package pdf

import (
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/text/language"
)

// Words are the fixed texts of a quote's document and mails in one language, read from
// words/<locale>.json.
type Words struct {
	tag   language.Tag
	shown func(rune) bool // reports whether a letter can be shown; nil if each can

	Title, Reference, Date string

	File string // begins the names of files

	// Estimate and Guide are printed above and below the range.
	Estimate, Guide string

	// Agreed replaces the range if there is no price; AgreedGuide is printed below it.
	Agreed, AgreedGuide string

	// Unpriced and ValidUntil are printed below the range of a quote with prices.
	// ValidUntil is the format of a sentence with the day.
	Unpriced, ValidUntil string

	// Open is printed for a missing amount, Included for 0.
	Open, Included string

	// Adjustments, Minimum and Rounding name the differences between the sum of the
	// choices and the range.
	Adjustments, Minimum, Rounding string

	// PreparedFor, Project, Features, Next and Note are the headings of sections.
	PreparedFor, Project, Features, Next, Note string

	ProjectType, Complexity, Timeline string
	Steps                             [3]string

	// Disclaimer mentions taxes, which DisclaimerTaxed leaves to the price.
	Disclaimer, DisclaimerTaxed string

	// TaxName names a tax without a label. Net and Total are the range without and with it;
	// Including is a format with its rate and label.
	TaxName, Net, Total, Including string

	Page      string // format with the page's number and the number of pages
	Day       string // format with day, month and year
	Months    [12]string
	CodeFirst bool // whether the currency is printed before the number

	Site SiteWords
	Mail MailWords
}

// SiteWords are the texts that only the page of a quote has.
type SiteWords struct {
	Download                             string
	Consents, Given, Withdraw, Withdrawn string // Withdrawn is a format with the day
	SaveProgress                         string // names this consent if its wording is not known
	Data, Deletion, Ask, Asked           string // Asked is a format with the day
	Declined                             string // a format with the days of the request and the refusal
	Complain                             string // the rights of a visitor after a refusal
	Missing, MissingText                 string
}

// MailWords are the texts that only the mails have.
type MailWords struct {
	Visitor struct {
		Subject         string
		Hello, HelloAll string // greetings, the second one without a name
		Thanks          string
		Open            string // the link to the quote's page
		Attached, Reply string
		Why             string // the reason for the mail
	}
	Sales struct {
		Subject, Title                       string
		Contact, Name, Email, Phone, Company string
		Language, Message, Project, Seen     string
		Consents, From, FirstFrom, Received  string
		SameVisit                            string
		Given, NotGiven                      string // answers to consents
		Withdrawn                            string // format with the day
		OtherWording                         string
		Open, Reply, NoReply, Typed          string
	}
	Assigned struct {
		Subject, SubjectAll string // formats with a reference, and with the number of leads
		Text, Open          string
	}
	Deletion struct {
		Subject        string // format with a reference
		Text, Deadline string // formats with a day
		Open           string
	}
	Declined struct {
		Subject string
		Text    string // format with the day of the request
		Reply   string
	}
	Languages map[string]string // names of languages by locale
}

//go:embed words
var texts embed.FS

// WordsIn returns the texts in a locale, or in English if the locale is unknown.
func WordsIn(locale string) (*Words, error) {
	data, err := texts.ReadFile("words/" + locale + ".json")
	if err != nil {
		locale = "en"
		data, err = texts.ReadFile("words/en.json")
	}

	w := &Words{tag: language.Make(locale)}
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	return w, err
}

// DateOf formats the day of a time, in its own time zone.
func (w *Words) DateOf(t time.Time) string {
	return fmt.Sprintf(w.Day, t.Day(), w.Months[t.Month()-1], t.Year())
}
