// Package health checks the dependencies of the service, for the field serviceHealth and
// the command doctor.
package health

import (
	"context"
	"crypto/tls"
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

// Skipped is the error of a check that has nothing to check, with the reason.
type Skipped string

func (s Skipped) Error() string { return string(s) }

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

// remedy returns the advice for causes that several checks may find, or the check's own.
func remedy(err error, advice string) string {
	switch refused := (*tls.CertificateVerificationError)(nil); {
	case errors.As(err, &refused):
		return "the server's certificate was refused: have it renewed if it has expired, and check " +
			"the clock of this machine"
	case strings.Contains(err.Error(), "database is locked"):
		return "another process holds the database: end it, such as a copy, a backup tool or an " +
			"open `sqlite3`"
	}
	return advice
}

func (c Check) examine(ctx context.Context) (found []*schema.HealthCheck) {
	report := func(state schema.HealthState, detail, advice string) {
		found = append(found, &schema.HealthCheck{
			Name:   c.Name,
			State:  state,
			Detail: new(strings.Join(strings.Fields(detail), " ")),
			Advice: schema.Optional(advice),
		})
	}
	warn := func(detail, advice string) { report(schema.HealthStateWarning, detail, advice) }

	began := time.Now()
	works, err := c.Run(ctx, warn)
	took := time.Since(began).Round(100 * time.Microsecond)

	switch {
	case errors.Is(err, ErrNotCreated):
		warn(err.Error(),
			"normal before the first start, which creates it; otherwise set DATA_DIR to the folder "+
				"of the service")
	case errors.As(err, new(Skipped)):
		report(schema.HealthStateSkipped, err.Error(), "")
	case err != nil:
		report(schema.HealthStateFailed, err.Error(), remedy(err, c.Advice))
	case len(found) == 0:
		report(schema.HealthStateOk, fmt.Sprintf("%s (%v)", works, took), "")
	}
	return found
}
