package hubspottest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Contact is one as a test sees it.
type Contact struct {
	ID         string
	Properties map[string]string // those that have a value
	Secondary  []string          // further addresses
}

// account is what HubSpot stores.
type account struct {
	last     int64 // id of the latest contact
	contacts map[string]*record
	byEmail  map[string]string // id, by primary or secondary address in lower case
	blocked  map[string]bool   // addresses erased before they were there
	groups   map[string]string // label, by name
	defs     map[string]definition
}

// record is a contact with its past.
type record struct {
	number    int64
	id        string // the number, as the API shows it
	props     map[string]string
	secondary []string
	created   time.Time
	past      []version // oldest first; the last one is the present
}

// version is what a contact held from a time on.
type version struct {
	from  time.Time
	props map[string]string
}

func newAccount() *account {
	return &account{
		last: 100, contacts: map[string]*record{}, byEmail: map[string]string{}, blocked: map[string]bool{},
		groups: map[string]string{"contactinformation": "Contact information"}, defs: standardDefinitions(),
	}
}

// add makes a contact.
func (a *account) add(props map[string]string, now time.Time) *record {
	a.last++
	r := &record{number: a.last, id: strconv.FormatInt(a.last, 10), props: map[string]string{}, created: now}
	a.contacts[r.id] = r
	a.change(r, props, now)
	return r
}

// change writes properties. An empty value clears.
func (a *account) change(r *record, props map[string]string, now time.Time) {
	for name, value := range props {
		switch {
		case name == "email" && value != "":
			delete(a.byEmail, r.props["email"])
			// What was a secondary address becomes the primary one.
			r.secondary = slices.DeleteFunc(r.secondary, func(s string) bool { return s == lower(value) })
			r.props["email"] = lower(value)
			a.byEmail[lower(value)] = r.id
		case value == "":
			if name == "email" {
				delete(a.byEmail, r.props[name])
			}
			delete(r.props, name)
		case name == "lifecyclestage" && stage(value) < stage(r.props[name]):
			// Stages only move forward; HubSpot ignores the rest without a word.
		default:
			r.props[name] = value
		}
	}
	r.past = append(r.past, version{from: now, props: maps.Clone(r.props)})
}

// at returns what a contact held at a time, false where it was not there yet.
func (r *record) at(t time.Time) (map[string]string, bool) {
	for _, v := range slices.Backward(r.past) {
		if !v.from.After(t) {
			return v.props, true
		}
	}
	return nil, false
}

// remove forgets a contact and its addresses.
func (a *account) remove(r *record) {
	delete(a.contacts, r.id)
	maps.DeleteFunc(a.byEmail, func(_, id string) bool { return id == r.id })
}

func lower(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// stages of a contact's life, in order.
func stages() []string {
	return []string{"subscriber", "lead", "marketingqualifiedlead", "salesqualifiedlead", "opportunity", "customer", "evangelist", "other"}
}

func stage(name string) int { return slices.Index(stages(), name) }

// Add makes a contact without a request and returns its id.
func (s *Server) Add(properties map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account.add(properties, s.o.Now().Add(-s.o.ReadLag)).id
}

// AddSecondary gives the contact with an address a further one.
func (s *Server) AddSecondary(email, further string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.account.contacts[s.account.byEmail[lower(email)]]; r != nil {
		r.secondary = append(r.secondary, lower(further))
		s.account.byEmail[lower(further)] = r.id
	}
}

// Remove deletes the contact with an address without a request.
func (s *Server) Remove(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.account.contacts[s.account.byEmail[lower(email)]]; r != nil {
		s.account.remove(r)
	}
}

// Contact returns the contact with a primary or secondary address.
func (s *Server) Contact(email string) (Contact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.account.contacts[s.account.byEmail[lower(email)]]
	if r == nil {
		return Contact{}, false
	}
	return r.copy(), true
}

// Contacts returns all contacts, oldest first.
func (s *Server) Contacts() []Contact {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Contact, 0, len(s.account.contacts))
	for _, r := range s.sorted() {
		all = append(all, r.copy())
	}
	return all
}

func (r *record) copy() Contact {
	return Contact{ID: r.id, Properties: maps.Clone(r.props), Secondary: slices.Clone(r.secondary)}
}

// sorted returns the contacts by id. The caller holds the lock.
func (s *Server) sorted() []*record {
	return slices.SortedFunc(maps.Values(s.account.contacts), func(a, b *record) int {
		return cmp.Compare(a.number, b.number)
	})
}
