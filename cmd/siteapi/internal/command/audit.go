package command

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"time"

	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// entry returns the entry of the audit for what this command does.
func (c *call) entry(action schema.AuditAction, leadID string, detail map[string]any) store.AuditEntry {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return operators.AuditEntry(schema.CommandPrefix+cmp.Or(name, "unknown"), action, leadID, detail, time.Now())
}

// record stores what this command does.
func (c *call) record(ctx context.Context, entries ...store.AuditEntry) error {
	return c.db.Tables.Record(ctx, entries...)
}
