package queue

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

// Processes that migrate at the same time disturb each other: the one that fails looks again.
const (
	migrateTries = 20
	migratePause = 250 * time.Millisecond
)

// migrate applies those of River's migrations that are missing. Only reading rights are
// needed where none is.
func migrate[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], log *slog.Logger) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		validated, err := migrator.Validate(ctx, nil)
		if err == nil && validated.OK {
			return nil
		}
		if err == nil {
			_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		}
		if err != nil && try == migrateTries {
			return fmt.Errorf("after %d tries: %w", try, err)
		}
		if err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(migratePause):
		}
	}
}
