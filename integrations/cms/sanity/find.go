package sanity

import (
	"context"
	"slices"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// Find returns the ids of the submissions made with an address, those too that the
// service itself does not know any more. A document that an editor took the submission's
// id away from can be found by nobody but a person: it is an error.
func (d *Driver) Find(ctx context.Context, email string) ([]string, error) {
	const op = "looking for submissions of an address"
	if err := d.ready(ctx, op); err != nil {
		return nil, err
	}
	found := []string{}
	email = strings.ToLower(strings.TrimSpace(email))
	if email == "" {
		return found, nil
	}
	var ids []*string
	if err := d.query(ctx, groqQuery{
		op: op, text: byEmailQuery, perspective: raw, params: map[string]any{"type": cms.SubmissionType, "email": email},
		private: []string{email},
	}, &ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if id == nil || cms.CheckSubmissionID(*id) != nil {
			return nil, &upstream.Error{
				System: system, Op: op, Kind: upstream.Rejected,
				Detail: "a document of the address has no submissionId: delete it in the studio",
			}
		}
		if !slices.Contains(found, *id) {
			found = append(found, *id)
		}
	}
	return found, nil
}
