package command

import (
	"context"
	"errors"
	"fmt"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// systemsNote is the note that names the systems of the service: the settings that decide where
// leads are, without secrets. A command with other settings would find nothing there, and report
// success.
const systemsNote = "systems"

func systems(s *config.Settings) string {
	given := map[bool]string{false: "unset", true: "set"}
	return fmt.Sprintf("  CMS_DRIVER=%s (project %s, dataset %s)\n  CRM_DRIVER=%s (%s)\n"+
		"  CACHE_URL %s, LEAD_WEBHOOK_URL %s, SMTP_URL %s",
		s.CMSDriver, s.SanityProjectID, s.SanityDataset, s.CRMDriver, s.HubSpotAPIURL,
		given[s.CacheURL.Scheme != "memory"], given[s.LeadWebhookURL != ""], given[s.SMTPURL != nil])
}

// NoteSystems stores which systems the service works with.
func NoteSystems(ctx context.Context, notes store.Notes, s *config.Settings) error {
	return notes.SetNote(ctx, systemsNote, systems(s))
}

// CheckSystems returns an error if the service that was started last on the database works
// with other systems than these settings.
func CheckSystems(ctx context.Context, notes store.Notes, s *config.Settings) error {
	note, err := notes.Note(ctx, systemsNote)
	here := systems(s)
	switch {
	case errors.Is(err, store.ErrNotFound): // it was never started
		return nil
	case err != nil || note == here:
		return err
	}
	return fmt.Errorf("nothing was done, since the service on this database has other settings:\n%s\nHere:\n%s\n"+
		"Give the command those of the service (--env-file); if these are new, start the service with them first",
		note, here)
}
