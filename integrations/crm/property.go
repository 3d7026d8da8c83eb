package crm

import (
	"strconv"
	"strings"
	"time"
)

// Names of the properties that describe the contact itself.
const (
	PropEmail     = "email"
	PropFirstName = "firstname"
	PropLastName  = "lastname"
	PropPhone     = "phone"
	PropCompany   = "company"
)

// ContactProperties lists the names of the properties that describe the contact itself.
func ContactProperties() []string {
	return []string{PropEmail, PropFirstName, PropLastName, PropPhone, PropCompany}
}

// QuoteProperties lists the names of the quote properties, in the order they are shown.
func QuoteProperties() []string {
	return []string{
		PropProjectType, PropFeatures, PropComplexity, PropTimeline, PropMin, PropMax,
		PropCurrency, PropSubmissionID, PropSubmittedAt, PropPDFURL,
	}
}

// timeLayout is RFC 3339 in UTC with milliseconds, the precision of a submission.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Address brings an e-mail address into the one form contacts are told apart by:
// without white space around it and in lower case, as every CRM treats them.
func Address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Addressable reports whether an address has the least an e-mail address needs: a
// local part and a domain. Whatever accepted the submission has checked the rest.
func Addressable(email string) bool {
	local, domain, ok := strings.Cut(Address(email), "@")
	return ok && local != "" && domain != ""
}

// Changes returns the properties to write to a contact that holds the given ones so
// that it reflects the lead; none where it does already. A property the lead does
// not know is never among them, and no value is empty, which would clear it.
//
// Where the contact already shows a newer submission, the quote properties stay as
// they are, and the older lead only fills gaps in what describes the contact. The
// address is written to a new contact only: it is what the contact was found by, and
// writing it again could turn a secondary address into the primary one.
func Changes(l Lead, held map[string]string) map[string]string {
	changes := map[string]string{}
	newer := supersedes(l, held)
	for name, value := range contactValues(l) {
		if had := held[name]; had == "" || newer && name != PropEmail && had != value {
			changes[name] = value
		}
	}
	if !newer {
		return changes
	}
	for name, value := range quoteValues(l) {
		if !same(name, held[name], value) {
			changes[name] = value
		}
	}
	return changes
}

// supersedes reports whether the lead is at least as new as the submission a contact
// shows: by time, then by id, so that every order of arrival has the same outcome.
func supersedes(l Lead, held map[string]string) bool {
	at, err := parseTime(held[PropSubmittedAt])
	if err != nil {
		return true // it shows none, or one that isn't ours
	}
	if c := l.Submission.SubmittedAt.Truncate(time.Millisecond).Compare(at); c != 0 {
		return c > 0
	}
	return l.Submission.ID >= held[PropSubmissionID]
}

// contactValues returns what the lead knows about the contact itself.
func contactValues(l Lead) map[string]string {
	c := l.Submission.Contact
	return known(map[string]string{
		PropEmail:     Address(c.Email),
		PropFirstName: c.FirstName,
		PropLastName:  c.LastName,
		PropPhone:     c.Phone,
		PropCompany:   c.Company,
	})
}

// quoteValues returns what the lead knows about the quote.
func quoteValues(l Lead) map[string]string {
	s := l.Submission
	return known(map[string]string{
		PropProjectType:  s.Selections.ProjectType,
		PropFeatures:     strings.Join(s.Selections.Features, ";"),
		PropComplexity:   s.Selections.Complexity,
		PropTimeline:     s.Selections.Timeline,
		PropMin:          decimal(s.Estimate.Min),
		PropMax:          decimal(s.Estimate.Max),
		PropCurrency:     s.Estimate.Currency,
		PropSubmissionID: s.ID,
		PropSubmittedAt:  s.SubmittedAt.UTC().Format(timeLayout),
		PropPDFURL:       l.PDFURL,
	})
}

// known trims the values and drops those that are empty.
func known(values map[string]string) map[string]string {
	for name, value := range values {
		if values[name] = strings.TrimSpace(value); values[name] == "" {
			delete(values, name)
		}
	}
	return values
}

// decimal writes a number as CRMs take it: no exponent, no superfluous digits.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// same reports whether two values of a property mean the same. A CRM may hand a time
// or a number back in another notation than it was given.
func same(name, a, b string) bool {
	if a == b {
		return true
	}
	switch name {
	case PropSubmittedAt:
		at, aErr := parseTime(a)
		bt, bErr := parseTime(b)
		return aErr == nil && bErr == nil && at.Equal(bt)
	case PropMin, PropMax:
		af, aErr := strconv.ParseFloat(a, 64)
		bf, bErr := strconv.ParseFloat(b, 64)
		return aErr == nil && bErr == nil && af == bf
	}
	return false
}

// parseTime reads RFC 3339 or milliseconds since 1970, both of which CRMs return.
func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, s)
}
