package hubspottest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Record is a contact or a deal, as people see it in HubSpot.
type Record struct {
	ID         string
	Properties map[string]string // properties that have a value
	Contacts   []string          // addresses of the contacts that a deal is associated with
	InBin      bool              // a deal in the recycling bin
}

// Contacts returns all contacts in the order of their creation.
func (s *Server) Contacts() []Record { return s.all("contacts") }

// Deals returns all deals in the order of their creation, then those in the recycling bin.
func (s *Server) Deals() []Record { return s.all("deals") }

func (s *Server) all(kind string) (list []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()

	records := slices.SortedFunc(maps.Values(s.records[kind]), func(a, b *record) int { return cmp.Compare(a.id, b.id) })
	for _, r := range append(records, s.bin[kind]...) {
		shown := Record{ID: r.id, Properties: maps.Clone(r.props), InBin: s.records[kind][r.id] == nil}
		for id := range r.contacts {
			if c := s.records["contacts"][id]; c != nil {
				shown.Contacts = append(shown.Contacts, c.props["email"])
			}
		}
		list = append(list, shown)
	}
	return list
}

// Contact returns the properties of the contact with a primary or secondary address, or
// nil.
func (s *Server) Contact(email string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, r := s.named(email); r != nil {
		return maps.Clone(r.props)
	}
	return nil
}

// named returns the contact with an address, or the deal of a lead.
func (s *Server) named(key string) (kind string, r *record) {
	if strings.Contains(key, "@") {
		return "contacts", s.find("contacts", "email", key)
	}
	return "deals", s.find("deals", "quote_submission_id", key)
}

// Add creates a record at a time: a contact if it has an address, else a deal.
func (s *Server) Add(properties map[string]string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "deals"
	if properties["email"] != "" {
		kind = "contacts"
	}
	s.change(s.create(kind), properties, at)
}

// Edit changes the contact with an address, or the deal of a lead, at a time.
func (s *Server) Edit(key string, properties map[string]string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, r := s.named(key)
	s.change(r, properties, at)
}

// Clone copies the deal of a lead, except its unique properties and its history.
func (s *Server) Clone(leadID string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, r := s.named(leadID)
	props := maps.Clone(r.props)
	maps.DeleteFunc(props, func(name, _ string) bool { return s.defs["deals."+name].HasUniqueValue })
	copied := s.create("deals")
	s.change(copied, props, time.Now())
	copied.contacts = maps.Clone(r.contacts)
	return copied.id
}

// Merge merges the contact with an address into another one. That keeps its values, and gets
// the address, the values that it lacks, and the history of the other contact.
func (s *Server) Merge(from, into string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, gone := s.named(from)
	_, kept := s.named(into)
	s.discard("contacts", gone)

	missing := map[string]string{secondary: from, "hs_merged_object_ids": gone.id}
	for name, value := range gone.props {
		if kept.props[name] == "" {
			missing[name] = value
		}
	}
	s.change(kept, missing, time.Now())
	for name, past := range gone.histories {
		kept.histories[name] = append(kept.histories[name], past...)
	}
	s.merged[gone.id] = kept.id
}

// Remove deletes the contact with an address, or moves the deal of a lead to the recycling
// bin.
func (s *Server) Remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard(s.named(key))
}

// Define creates a property.
func (s *Server) Define(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs[kind+"."+name] = definition{Name: name}
}
