package systems

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// systemsNote is the name of the note with the settings that decide where leads are
// stored, without secrets. A command with other settings would search the wrong systems
// and report success.
const systemsNote = "systems"

func noted(s *config.Settings) []string {
	lines := s.Lines("CMS_DRIVER", "CRM_DRIVER", "LEAD_WEBHOOK_URL", "SMTP_URL")
	return append(lines, "CACHE_URL="+s.CacheURL.Scheme+"://…")
}

// Note records the systems of the service.
func Note(ctx context.Context, notes *store.Store, s *config.Settings) error {
	return notes.SetNote(ctx, systemsNote, strings.Join(noted(s), "\n"))
}

// CheckNote returns an error unless the settings select the systems of the service that
// used the database last. It names those that differ.
func CheckNote(ctx context.Context, notes *store.Store, s *config.Settings) error {
	note, err := notes.Note(ctx, systemsNote)
	if err == nil && note == "" { // no service has used the database
		return nil
	}
	there, here := strings.Split(note, "\n"), noted(s)
	if err != nil || slices.Equal(there, here) {
		return err
	}

	without := func(lines, others []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return slices.Contains(others, line)
		}), "\n  ")
	}
	return fmt.Errorf("nothing was done: the service on this database has other settings:\n  %s\n"+
		"This command has:\n  %s\n"+
		"Use the settings of the service (--env-file). If they have changed, restart the service first",
		without(there, here), without(here, there))
}
