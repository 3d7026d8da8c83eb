package leads

import (
	"context"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// AddNotes fills in the notes of leads.
func (s *Service) AddNotes(ctx context.Context, leads []lead.Lead) error {
	ids := make([]string, len(leads))
	for i, l := range leads {
		ids[i] = l.ID
	}

	notes, err := s.Work.Notes(ctx, ids)
	for i := range leads {
		leads[i].Notes = notes[leads[i].ID]
	}
	return err
}

// Count counts the leads that a filter selects. An empty state selects any.
func (s *Service) Count(ctx context.Context, f store.Filter, state lead.State) ([]store.WorkCount, error) {
	return s.Work.CountWork(ctx, inState(f, state))
}
