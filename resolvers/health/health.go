// Package health examines what the service depends on, for the field serviceHealth and for
// the command doctor.
package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// Check is one check of the service, for serviceHealth and for `siteapi doctor`.
type Check struct {
	Name string

	// Run describes what works, or returns an error.
	Run func(context.Context, Warn) (string, error)

	// Advice says what to do about an error.
	Advice string
}

// checkTimeout is how long one check may take.
const checkTimeout = 20 * time.Second

// ErrNotMade is the error of a check for something that the first start creates.
var ErrNotMade = errors.New("it does not exist")

// Warn reports something that works but needs attention.
type Warn func(detail, advice string)

// Examine runs all checks at the same time.
func Examine(ctx context.Context, checks []Check) []*schema.HealthCheck {
	found := make([][]*schema.HealthCheck, len(checks))
	var group sync.WaitGroup
	for i, c := range checks {
		group.Go(func() { found[i] = c.examine(ctx) })
	}
	group.Wait()

	return slices.Concat(found...)
}

func (c Check) examine(ctx context.Context) (found []*schema.HealthCheck) {
	report := func(state schema.HealthState, detail, advice string) {
		detail = strings.Join(strings.Fields(detail), " ")
		check := &schema.HealthCheck{Name: c.Name, State: state, Detail: &detail}
		if advice != "" {
			check.Advice = &advice
		}
		found = append(found, check)
	}
	warn := func(detail, advice string) { report(schema.HealthStateWarning, detail, advice) }

	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()

	began := time.Now()
	works, err := c.Run(ctx, warn)
	took := time.Since(began).Round(100 * time.Microsecond)

	switch kind := upstream.KindOf(err); {
	case err == nil && len(found) > 0:
	case err == nil:
		report(schema.HealthStateOk, fmt.Sprintf("%s (%v)", works, took), "")
	case errors.Is(err, ErrNotMade):
		warn(err.Error(),
			"right before the first start, which makes it; else set DATA_DIR to the folder of the service")
	case damaged(err):
		report(schema.HealthStateFailed, err.Error(),
			"the file of the database is damaged: stop the service, keep a copy of DATA_DIR, and replace the file "+
				"with `siteapi restore`; what came after the backup is lost")
	case kind == upstream.Refused && c.Name != "mail":
		report(schema.HealthStateFailed, err.Error(), cmp.Or(refused(err), c.Advice))
	case kind == upstream.Limited:
		report(schema.HealthStateFailed, err.Error(), "the quota is used up: wait, or have it raised")
	default:
		report(schema.HealthStateFailed, err.Error(), c.Advice)
	}
	return found
}

// refused says what to do about a call that a vendor refused. It is empty where the check's
// own advice applies.
func refused(err error) string {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok {
		return ""
	}
	credentials := slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, e.Status)

	switch {
	case e.System == "sanity" && e.Status == http.StatusNotFound:
		return "see SANITY_PROJECT_ID, SANITY_DATASET, SANITY_API_VERSION and SANITY_API_URL: " +
			"one of them names what does not exist"
	case e.System == "sanity" && credentials:
		return "see whether SANITY_TOKEN is valid and has the role Editor"
	case e.System == "sanity":
		return "see the plan of the project in Sanity's management console, SANITY_PROJECT_ID and SANITY_TOKEN"

	case e.System == "hubspot" && slices.Contains(
		[]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone}, e.Status):
		return "see HUBSPOT_API_VERSION and HUBSPOT_API_URL: one of them names what does not exist"
	case e.System == "hubspot" && credentials:
		return "see whether HUBSPOT_TOKEN is valid and has the scopes that the driver's manual names"
	case e.System == "hubspot":
		return "see the plan of the account in HubSpot, and HUBSPOT_TOKEN"

	case e.System == "file":
		return "see the owner and mode of the content file, and of DATA_DIR"
	}
	return ""
}

// damaged reports whether an error says that SQLite cannot use the content of its file.
func damaged(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "database disk image is malformed") ||
		strings.Contains(err.Error(), "file is not a database"))
}
