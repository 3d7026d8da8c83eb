package telemetry

import (
	"errors"
	"time"

	"siteapi/integrations/store"
)

// Database records the duration of a database operation that a visitor waited for. A
// missing lead is not a failure.
func (m *Metrics) Database(operation string, began time.Time, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, store.ErrUnavailable):
		outcome = "unavailable"
	case err != nil && !errors.Is(err, store.ErrNotFound):
		outcome = "error"
	}

	m.database.WithLabelValues(operation, outcome).Observe(time.Since(began).Seconds())
}
