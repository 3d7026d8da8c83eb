package hubspottest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Contact is a stored contact.
type Contact struct {
	ID         string
	Properties map[string]string // properties that have a value
}

// Add creates a contact directly, as if a user created it in HubSpot.
func (s *Server) Add(properties map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("contacts", nil, properties, time.Now())
}

// Remove deletes the contact with an address directly, as if a user deleted it in
// HubSpot.
func (s *Server) Remove(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records["contacts"], s.find("contacts", "email", email).id)
}

// Move sets a contact's stage or status at a time, as if a user changed it in HubSpot.
func (s *Server) Move(email, property, value string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("contacts", s.find("contacts", "email", email), map[string]string{property: value}, at)
}

// Contact returns the contact with a primary or secondary address.
func (s *Server) Contact(email string) (Contact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find("contacts", "email", email); r != nil {
		return Contact{r.id, maps.Clone(r.props)}, true
	}
	return Contact{}, false
}

// Contacts returns all contacts.
func (s *Server) Contacts() []Contact {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := []Contact{}
	for _, id := range slices.Sorted(maps.Keys(s.records["contacts"])) {
		all = append(all, Contact{id, maps.Clone(s.records["contacts"][id].props)})
	}
	return all
}

// deletePermanently deletes a contact and its associations.
func (s *Server) deletePermanently(c call) response {
	var in struct{ ObjectID string }
	if c.kind != "contacts" || json.Unmarshal(c.body, &in) != nil || s.records["contacts"][in.ObjectID] == nil {
		return notFound()
	}
	delete(s.records["contacts"], in.ObjectID)
	for _, deal := range s.records["deals"] {
		delete(deal.contacts, in.ObjectID)
	}
	return response{204, nil}
}
