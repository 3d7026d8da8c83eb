// Package health checks the dependencies of the service, for the field serviceHealth and
// the command doctor.
package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"siteapi/schema"
)

// Check is one check of the service, for serviceHealth and for `siteapi doctor`.
type Check struct {
	Name string

	// Run returns a description of the working system, or an error.
	Run func(context.Context, Warn) (string, error)

	// Advice describes how to fix an error.
	Advice string

	// Settings are those that must be valid for the check.
	Settings []string
}

// ErrNotCreated is the error of a check for something that the first start creates.
var ErrNotCreated = errors.New("it does not exist")

// Warn reports something that works but needs attention.
type Warn func(detail, advice string)

// Examine runs all checks concurrently.
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

	began := time.Now()
	works, err := c.Run(ctx, warn)
	took := time.Since(began).Round(100 * time.Microsecond)

	switch {
	case errors.Is(err, ErrNotCreated):
		warn(err.Error(),
			"normal before the first start, which creates it; otherwise set DATA_DIR to the folder of the service")
	case err != nil:
		report(schema.HealthStateFailed, err.Error(), c.Advice)
	case len(found) == 0:
		report(schema.HealthStateOk, fmt.Sprintf("%s (%v)", works, took), "")
	}
	return found
}
