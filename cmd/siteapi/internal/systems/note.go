package systems

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// systemsNote is the name of the note with the settings that decide where leads are
// stored, without secrets. A command with other settings would search the wrong systems
// and report success.
const systemsNote = "systems"

func noted(s *config.Settings) string {
	lines := s.Lines("CMS_DRIVER", "CRM_DRIVER", "LEAD_WEBHOOK_URL", "SMTP_URL")
	return "  " + strings.Join(append(lines, "CACHE_URL="+s.CacheURL.Scheme+"://…"), "\n  ")
}

// Note records the systems of the service.
func Note(ctx context.Context, notes *store.Store, s *config.Settings) error {
	return notes.SetNote(ctx, systemsNote, noted(s))
}

// CheckNote returns an error unless the settings select the systems of the service that
// used the database last.
func CheckNote(ctx context.Context, notes *store.Store, s *config.Settings) error {
	note, err := notes.Note(ctx, systemsNote)
	here := noted(s)
	switch {
	case errors.Is(err, store.ErrNotFound): // no service has used the database
		return nil
	case err != nil || note == here:
		return err
	}
	return fmt.Errorf("nothing was done: the service on this database has other settings:\n%s\n"+
		"This command has:\n%s\n"+
		"Use the settings of the service (--env-file). If they have changed, restart the service first",
		note, here)
}
