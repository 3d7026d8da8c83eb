package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// systemsNote is the note that names the systems of the service, as JSON: the
// settings that decide where leads are, without secrets. A command with other settings
// would find nothing there, and report success.
const systemsNote = "systems"

func systems(s *config.Settings) map[string]string {
	list := map[string]string{
		"CMS_DRIVER":        s.CMSDriver,
		"SANITY_PROJECT_ID": s.SanityProjectID,
		"SANITY_DATASET":    s.SanityDataset,
		"CRM_DRIVER":        s.CRMDriver,
		"HUBSPOT_API_URL":   s.HubSpotAPIURL,
	}
	for setting, given := range map[string]bool{
		"CACHE_URL":        s.CacheURL.Scheme != "memory",
		"LEAD_WEBHOOK_URL": s.LeadWebhookURL != "",
		"SMTP_URL":         s.SMTPURL != nil,
	} {
		if list[setting] = "unset"; given {
			list[setting] = "set"
		}
	}
	return list
}

// NoteSystems stores which systems the service works with.
func NoteSystems(ctx context.Context, notes store.Notes, s *config.Settings) error {
	note, err := json.Marshal(systems(s))
	if err != nil {
		return err
	}
	return notes.SetNote(ctx, systemsNote, string(note))
}

// CheckSystems returns an error if the service that was started last on the database works
// with other systems than these settings. All are compared if no setting is named.
func CheckSystems(ctx context.Context, notes store.Notes, s *config.Settings, settings ...string) error {
	note, err := notes.Note(ctx, systemsNote)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was never started
	}
	if err != nil {
		return err
	}

	var service map[string]string
	if err := json.Unmarshal([]byte(note), &service); err != nil {
		return fmt.Errorf("reading the settings of the service: %w", err)
	}

	var differences []string
	here := systems(s)
	for _, setting := range slices.Sorted(maps.Keys(service)) {
		concerned := len(settings) == 0 || slices.Contains(settings, setting)
		if concerned && here[setting] != service[setting] {
			differences = append(differences, fmt.Sprintf("%s is %s there and %s here",
				setting, cmp.Or(service[setting], "unset"), cmp.Or(here[setting], "unset")))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was done, since the service on this database has other settings: %s.\n"+
		"Give the command those of the service (--env-file); if these are new, start the service with them first",
		strings.Join(differences, ", "))
}
