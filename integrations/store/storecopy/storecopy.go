// Package storecopy copies the contents of a SQLite database into an empty PostgreSQL
// database. Stop the service first, since a copy misses concurrent writes.
package storecopy

import (
	"context"

	"siteapi/integrations/store/internal/sqlstore"
)

// Store is the type that the stores of all drivers embed.
type Store = sqlstore.Store

// Copied is the number of rows of a table that were copied.
type Copied = sqlstore.Copied

// ErrNotEmpty means that the target database already has leads, sessions or audit
// entries.
var ErrNotEmpty = sqlstore.ErrNotEmpty

// Copy copies all tables from one database into an empty one. Each delivery that has not
// ended gets a job in the target. After an error the target must be created anew.
func Copy(ctx context.Context, from, to *Store) ([]Copied, error) { return from.CopyTo(ctx, to) }
