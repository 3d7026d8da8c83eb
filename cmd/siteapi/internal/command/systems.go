package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// systemsNote is the note that names the systems of the service, as JSON: the
// settings that decide where leads are, without secrets. A command with other settings
// would find nothing there, and report success.
const systemsNote = "systems"

// system is a setting that decides where leads are.
type system struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
}

func systems(s *config.Settings) []system {
	list := []system{{"CMS_DRIVER", s.CMSDriver}, {"CRM_DRIVER", s.CRMDriver}}
	if s.CMSDriver == "sanity" {
		list = append(list, system{"SANITY_PROJECT_ID", s.SanityProjectID}, system{"SANITY_DATASET", s.SanityDataset})
	}

	if s.CRMDriver == "hubspot" {
		list = append(list, system{"HUBSPOT_API_URL", s.HubSpotAPIURL})
	}

	given := func(setting string, isGiven bool) {
		value := "unset"
		if isGiven {
			value = "set"
		}
		list = append(list, system{setting, value})
	}
	given("CACHE_URL", s.CacheURL.Scheme != "memory")
	given("LEAD_WEBHOOK_URL", s.LeadWebhookURL != "")
	given("SMTP_URL", s.SMTPURL != nil)
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

	var service []system
	if err := json.Unmarshal([]byte(note), &service); err != nil {
		return fmt.Errorf("reading the settings of the service: %w", err)
	}
	here := map[string]string{}
	for _, system := range systems(s) {
		here[system.Setting] = system.Value
	}

	var differences []string
	for _, system := range service {
		if value := here[system.Setting]; value != system.Value &&
			(len(settings) == 0 || slices.Contains(settings, system.Setting)) {
			if value == "" {
				value = "unset"
			}
			differences = append(differences, fmt.Sprintf("%s is %s there and %s here", system.Setting, system.Value, value))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was done, since the service on this database has other settings: %s.\n"+
		"Give the command those of the service (--env-file); if these are new, start the service with them first",
		strings.Join(differences, ", "))
}
