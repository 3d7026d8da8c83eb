package leads

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// UnfinishedQuotes resolves the root field `unfinishedQuotes`.
func (r *Resolver) UnfinishedQuotes(
	ctx context.Context, first *int, after *string,
) (*schema.PersonSessionConnection, error) {
	position, err := parseUnfinished(schema.ValueOr(after, ""))
	if err != nil {
		return nil, err
	}
	limit := schema.ValueOr(first, schema.DefaultPage)
	found, err := r.Store.Unfinished(ctx, position, limit+1)
	if err != nil {
		return nil, err
	}

	page := &schema.PersonSessionConnection{Edges: []*schema.PersonSessionEdge{}}
	var cursors []string
	for _, s := range found[:min(limit, len(found))] {
		cursor := schema.NewCursor(fmt.Sprintf("%d %s", s.LastSeen.UnixMilli(), s.ID))
		cursors = append(cursors, cursor)
		page.Edges = append(page.Edges, &schema.PersonSessionEdge{Cursor: cursor, Node: newPersonSession(s)})
	}
	page.PageInfo = schema.NewPageInfo(cursors, len(found) > limit)
	detail := map[string]any{"count": len(cursors), "of": "unfinished quotes"}
	return page, r.Operators.Record(ctx, schema.AuditActionListed, "", detail)
}

// parseUnfinished parses the cursor of a session. Without one, the first page is read.
func parseUnfinished(cursor string) (position store.SessionPosition, err error) {
	if cursor == "" {
		return position, nil
	}
	var ms int64
	if _, err := fmt.Sscanf(schema.CursorText(cursor), "%d %s", &ms, &position.ID); err != nil {
		return position, schema.BadCursor()
	}
	position.LastSeen = time.UnixMilli(ms)
	return position, nil
}
