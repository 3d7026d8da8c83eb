package hubspottest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// pipeline is a pipeline of deals, with its stages.
type pipeline struct {
	ID       string          `json:"id"`
	Label    string          `json:"label"`
	Archived bool            `json:"archived"`
	Stages   []pipelineStage `json:"stages"`
}

type pipelineStage struct {
	ID       string            `json:"id"`
	Label    string            `json:"label"`
	Archived bool              `json:"archived"`
	Metadata map[string]string `json:"metadata"`
}

// standardPipelines are HubSpot's standard pipeline, one whose label has a slash, and an
// archived one.
func standardPipelines() []pipeline {
	stage := func(id, label, probability string) pipelineStage {
		return pipelineStage{ID: id, Label: label, Metadata: map[string]string{"probability": probability}}
	}
	return []pipeline{
		{ID: "default", Label: "Sales Pipeline", Stages: []pipelineStage{
			stage("appointmentscheduled", "Appointment Scheduled", "0.2"),
			stage("qualifiedtobuy", "Qualified To Buy", "0.4"),
			stage("closedwon", "Closed Won", "1.0"),
			stage("closedlost", "Closed Lost", "0.0"),
		}},
		{ID: "8812", Label: "Web/Quotes", Stages: []pipelineStage{
			stage("8813", "New", "0.1"),
			stage("8814", "Won", "1.0"),
		}},
		{ID: "8820", Label: "Old", Archived: true, Stages: []pipelineStage{stage("8821", "New", "0.1")}},
	}
}

// stage returns the stage with an id, archived if its pipeline is, or the zero value.
func (s *Server) stage(id string) pipelineStage {
	for _, p := range s.pipelines {
		for _, stage := range p.Stages {
			if stage.ID == id {
				stage.Archived = p.Archived
				return stage
			}
		}
	}
	return pipelineStage{}
}

// Deal is a deal, possibly in the recycling bin.
type Deal struct {
	Properties map[string]string // properties that have a value
	Contacts   []string          // addresses of the associated contacts
	InBin      bool
}

// Deals returns all deals in the order of their creation, then those in the recycling bin.
func (s *Server) Deals() (all []Deal) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, r := range slices.SortedFunc(maps.Values(s.records["deals"]), func(a, b *record) int { return strings.Compare(a.id, b.id) }) {
		all = append(all, s.deal(r, false))
	}
	for _, r := range s.bin {
		all = append(all, s.deal(r, true))
	}
	return all
}

func (s *Server) deal(r *record, inBin bool) Deal {
	d := Deal{Properties: maps.Clone(r.props), InBin: inBin}
	for id := range r.contacts {
		if c := s.records["contacts"][id]; c != nil {
			d.Contacts = append(d.Contacts, c.props["email"])
		}
	}
	return d
}

// Edit changes the deal of a lead at a time, as if a user did in HubSpot.
func (s *Server) Edit(lead string, properties map[string]string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("deals", s.find("deals", "quote_submission_id", lead), properties, at)
}

// AddDeal creates a deal at a time, as if a user created it in HubSpot.
func (s *Server) AddDeal(properties map[string]string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("deals", nil, properties, at)
}

// Discard moves the deal of a lead to the recycling bin, as if a user deleted it in
// HubSpot.
func (s *Server) Discard(lead string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard(s.find("deals", "quote_submission_id", lead))
}

func (s *Server) discard(deal *record) {
	delete(s.records["deals"], deal.id)
	s.bin = append(s.bin, deal)
}

// associate changes the associations of a deal with a contact.
func (s *Server) associate(c call, deal *record, rest string) response {
	parts := strings.Split(rest, "/")
	contact := parts[len(parts)-1]
	switch {
	case c.kind != "deals" || s.records["contacts"][contact] == nil:
		return notFound()
	case c.Method == "PUT" && strings.HasPrefix(rest, "associations/default/contacts/"):
		deal.contacts[contact] = true
		return response{200, map[string]any{"status": "COMPLETE", "results": []any{}}}
	case c.Method == "DELETE" && strings.HasPrefix(rest, "associations/contacts/"):
		delete(deal.contacts, contact)
		return response{204, nil}
	}
	return wrong(405, "", "method not allowed")
}
