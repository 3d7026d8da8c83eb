package systems

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/telemetry"
)

// opener returns an opener with settings of development.
func opener(t *testing.T, env map[string]string) Opener {
	t.Helper()
	settings, err := config.Read(func(name string) string {
		return map[string]string{"ENVIRONMENT": "development", "DATA_DIR": t.TempDir()}[name] + env[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return Opener{Settings: settings, Log: zerolog.Nop(), Metrics: telemetry.NewMetrics("")}
}

// Each word of CMS_DRIVER and CRM_DRIVER opens a driver, and so does each mail driver. The advice for a failure names
// the secrets and the address of a driver, and only settings that exist. The inbox has a
// text for the copies of a lead that stay in its system.
func TestEveryDriver(t *testing.T) {
	t.Parallel()
	required := map[string]string{"SANITY_PROJECT_ID": "abc12345", "SANITY_TOKEN": "t", "HUBSPOT_TOKEN": "t"}
	inbox, err := os.ReadFile("../pages/inbox/words/en.ts")
	if err != nil {
		t.Fatal(err)
	}
	o := opener(t, nil)
	known := map[string][]string{
		"CMS_DRIVER": slices.Sorted(maps.Keys(o.cmsDrivers())),
		"CRM_DRIVER": slices.Sorted(maps.Keys(o.crmDrivers())),
	}

	withMails := opener(t, map[string]string{"SMTP_URL": "smtps://mail.example"})
	for name, driver := range withMails.mailDrivers() {
		if sender, err := driver.open(); sender == nil || err != nil || driver.remedy == "" || driver.sends != (driver.copies != "") {
			t.Errorf("the mail driver %s: %v, remedy %q, copies %q", name, err, driver.remedy, driver.copies)
		}
		checkRemedy(t, name, driver.remedy)
		if driver.copies != "" && !strings.Contains(string(inbox), strconv.Quote(driver.copies)+":") {
			t.Errorf("pages/inbox/words has no text for %q", driver.copies)
		}
	}

	for setting, names := range known {
		_, err := config.Read(func(name string) string { return map[string]string{setting: "?"}[name] }, setting)
		words := slices.Sorted(slices.Values(strings.Split(regexp.MustCompile(`one of (.+)`).
			FindStringSubmatch(err.Error())[1], ", ")))
		if !slices.Equal(names, words) {
			t.Errorf("%s accepts %q, and drivers.go has %q", setting, words, names)
		}

		for _, name := range names {
			env := maps.Clone(required)
			env[setting] = name
			o := opener(t, env)
			remedy, copies, err := o.crmDriver().remedy, o.crmDriver().copies, error(nil)
			if setting == "CMS_DRIVER" {
				remedy, copies = o.cmsDriver().remedy, o.cmsDriver().copies
				_, err = o.CMS()
			} else {
				_, err = o.CRM()
			}
			if err != nil || remedy == "" {
				t.Errorf("%s=%s: %v, remedy %q", setting, name, err, remedy)
			}
			checkRemedy(t, name, remedy)
			if copies != "" && !strings.Contains(string(inbox), strconv.Quote(copies)+":") {
				t.Errorf("pages/inbox/words has no text for %q", copies)
			}
		}
	}

	for _, stage := range []string{"", "default/appointmentscheduled"} {
		env := maps.Clone(required)
		env["CRM_DRIVER"], env["HUBSPOT_DEAL_STAGE"] = "hubspot", stage
		// No request finds them, so only the receipt of an erasure tells.
		if copies := opener(t, env).crmDriver().copies; !strings.Contains(copies, "that people deleted, for 90 days") {
			t.Errorf("with the stage %q, the records that people deleted are not named: %q", stage, copies)
		}
	}
}

func checkRemedy(t *testing.T, driver, remedy string) {
	t.Helper()
	named := regexp.MustCompile(`[A-Z]+(_[A-Z]+)+`).FindAllString(remedy, -1)
	for _, item := range config.Table() {
		own := strings.HasPrefix(item.Name, strings.ToUpper(driver)+"_")
		if own && (item.Secret || strings.Contains(item.Name, "_API_")) && !slices.Contains(named, item.Name) {
			t.Errorf("the remedy of %s does not name %s", driver, item.Name)
		}
		named = slices.DeleteFunc(named, func(name string) bool { return name == item.Name })
	}
	if len(named) > 0 {
		t.Errorf("the remedy of %s names settings that do not exist: %q", driver, named)
	}
}

// A command must use the systems of the service that used the database last, and the cache
// the content of the same source. Secrets are not part of either.
func TestNoteAndContentSource(t *testing.T) {
	t.Parallel()
	sanity := map[string]string{
		"CMS_DRIVER": "sanity", "SANITY_PROJECT_ID": "abc12345", "SANITY_TOKEN": "hush",
		"CRM_DRIVER": "hubspot", "HUBSPOT_TOKEN": "hush",
	}
	for _, tt := range []struct {
		name, value  string
		note, source bool // whether they change
	}{
		{"CMS_DRIVER", "file", true, true},
		{"SANITY_PROJECT_ID", "other", true, true},
		{"SANITY_DATASET", "staging", true, true},
		{"SANITY_API_VERSION", "2026-01-01", true, true},
		{"SANITY_API_URL", "https://sanity.example", true, true},
		{"SANITY_TOKEN", "rotated", false, false},
		{"CRM_DRIVER", "file", true, false},
		{"HUBSPOT_API_URL", "https://hubspot.example", true, false},
		{"HUBSPOT_DEAL_STAGE", "default/new", true, false},
		{"HUBSPOT_TOKEN", "rotated", false, false},
		{"CACHE_URL", "valkey://user:hush@cache.example", true, false},
		{"SMTP_URL", "smtps://user:hush@mail.example", true, false},
		{"CMS_WATCH", "off", false, false}, // decides when content is read, not from where
		{"CONTENT_TTL", "1m", false, false},
		{"RATE_LIMITS", "off", false, false},
	} {
		before := opener(t, sanity)
		env := maps.Clone(sanity)
		env[tt.name] = tt.value
		after := opener(t, env)

		if got := !slices.Equal(noted(before.Settings), noted(after.Settings)); got != tt.note {
			t.Errorf("%s=%s changes the note: %v\n%s", tt.name, tt.value, got, noted(after.Settings))
		}
		if got := before.contentSource() != after.contentSource(); got != tt.source {
			t.Errorf("%s=%s changes the source of content: %v", tt.name, tt.value, got)
		}
		if text := fmt.Sprint(noted(after.Settings), after.contentSource()); strings.Contains(text, "hush") {
			t.Errorf("%s=%s: a secret is in %s", tt.name, tt.value, text)
		}
	}
}
