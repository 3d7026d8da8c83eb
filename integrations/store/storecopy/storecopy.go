// Package storecopy moves the contents of a SQLite database into an empty one of PostgreSQL.
// Stop the service first, since a copy does not see what is written meanwhile.
package storecopy

import (
	"context"

	"siteapi/integrations/store/internal/sqlstore"
)

// Store is the type that the stores of all drivers embed.
type Store = sqlstore.Store

// Copied is the number of rows of a table that were copied.
type Copied = sqlstore.Copied

// ErrNotEmpty means that the database to copy to has leads, sessions or an audit already.
var ErrNotEmpty = sqlstore.ErrNotEmpty

// Copy copies all tables from one database into an empty one. A delivery that has not ended
// gets a job there. After an error the other database has to be made anew.
func Copy(ctx context.Context, from, to *Store) ([]Copied, error) { return from.CopyTo(ctx, to) }
