package sanity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"siteapi/integrations/cms"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// batch is how many ids go into one query or transaction.
const batch = 100

// mutation is one of createIfNotExists and delete.
type mutation struct {
	CreateIfNotExists any       `json:"createIfNotExists,omitempty"`
	Delete            *deletion `json:"delete,omitempty"`
}

type deletion struct {
	ID string `json:"id"`
}

// mutated is what the API says of a transaction.
type mutated struct {
	Results []struct {
		ID        string `json:"id"`
		Operation string `json:"operation"`
	} `json:"results"`
}

// Put stores a submission's document unless it is there already, whatever became of it
// since: an editor's changes stay.
func (d *Driver) Put(ctx context.Context, s *quote.Submission) error {
	const op = "storing a submission"
	if err := d.ready(ctx, op, s.ID); err != nil {
		return err
	}
	id := cms.SubmissionID(s.ID)
	private := []string{s.Contact.Email, s.Contact.FirstName, s.Contact.LastName, s.Contact.Phone, s.Contact.Company, s.SessionID}
	answer, err := d.mutate(ctx, op, []mutation{{CreateIfNotExists: cms.Stored(s)}}, private...)
	if err != nil && !errors.Is(err, errExists) {
		return err
	}
	for _, r := range answer.Results {
		if r.ID == id && (r.Operation == "create" || r.Operation == "none" || r.Operation == "update") {
			return nil
		}
	}
	// The answer does not name the document, or claims that it exists already.
	there, err := d.existing(ctx, op, groqQuery{text: idsQuery, params: map[string]any{"ids": []string{id}}})
	if err != nil {
		return err
	}
	if !there[id] {
		return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Detail: "the document is not stored, whatever the answer said"}
	}
	return nil
}

// Missing returns those of the ids that have no document, by one query per hundred.
func (d *Driver) Missing(ctx context.Context, ids []string) ([]string, error) {
	const op = "looking for submissions"
	if err := d.ready(ctx, op, ids...); err != nil {
		return nil, err
	}
	missing := []string{}
	for part := range slices.Chunk(ids, batch) {
		there, err := d.existing(ctx, op, groqQuery{text: idsQuery, params: map[string]any{"ids": documentIDs(part)}})
		if err != nil {
			return nil, err
		}
		for _, id := range part {
			if !there[cms.SubmissionID(id)] {
				missing = append(missing, id)
			}
		}
	}
	return missing, nil
}

// Erase removes the documents of the ids with all drafts and versions of them, and looks
// afterwards whether they are gone.
func (d *Driver) Erase(ctx context.Context, ids []string) error {
	const op = "erasing submissions"
	if err := d.ready(ctx, op, ids...); err != nil {
		return err
	}
	for part := range slices.Chunk(ids, batch) {
		copies := groqQuery{text: copiesQuery, params: map[string]any{
			"ids": documentIDs(part), "type": cms.SubmissionType, "names": part,
		}}
		there, err := d.existing(ctx, op, copies)
		if err != nil {
			return err
		}
		for _, id := range documentIDs(part) {
			there[id] = true // the index may not know it yet
		}
		if err := d.remove(ctx, op, there); err != nil {
			return err
		}
		left, err := d.existing(ctx, op, copies)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Detail: fmt.Sprintf("%d documents are still there", len(left))}
		}
	}
	return nil
}

// remove deletes documents in one transaction. Where that fails because one of them is
// not there, each is deleted by itself.
func (d *Driver) remove(ctx context.Context, op string, ids map[string]bool) error {
	deletions := make([]mutation, 0, len(ids))
	for id := range ids {
		deletions = append(deletions, mutation{Delete: &deletion{ID: id}})
	}
	_, err := d.mutate(ctx, op, deletions)
	if !errors.Is(err, errAbsent) {
		return err
	}
	for _, m := range deletions {
		if _, err := d.mutate(ctx, op, []mutation{m}); err != nil && !errors.Is(err, errAbsent) {
			return err
		}
	}
	return nil
}

// existing runs a query for ids.
func (d *Driver) existing(ctx context.Context, op string, q groqQuery) (map[string]bool, error) {
	q.op, q.perspective = op, raw
	var ids []string
	if err := d.query(ctx, q, &ids); err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	return there, nil
}

// mutate runs one transaction, which takes effect whole or not at all, and waits until
// queries see it.
func (d *Driver) mutate(ctx context.Context, op string, mutations []mutation, private ...string) (mutated, error) {
	resp, err := d.client.Do(ctx, upstream.Request{
		Op: op, Method: http.MethodPost, Path: d.path("mutate"),
		Query: url.Values{"returnIds": {"true"}, "visibility": {"sync"}},
		Body:  map[string]any{"mutations": mutations},
	})
	if err != nil {
		return mutated{}, err
	}
	if err := d.judge(op, resp, private...); err != nil {
		return mutated{}, err
	}
	var answer mutated
	if err := resp.Decode(&answer); err != nil {
		return mutated{}, d.odd(op, resp, "the answer is not JSON of the expected shape")
	}
	return answer, nil
}

// ready refuses what can't succeed before anything is sent.
func (d *Driver) ready(ctx context.Context, op string, ids ...string) error {
	for _, id := range ids {
		if err := cms.CheckSubmissionID(id); err != nil {
			return &upstream.Error{System: system, Op: op, Kind: upstream.Rejected, Err: err}
		}
	}
	if !d.hasAuth {
		return &upstream.Error{System: system, Op: op, Kind: upstream.Refused, Detail: "no token is configured"}
	}
	if err := ctx.Err(); err != nil {
		return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Err: err}
	}
	return nil
}

func documentIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = cms.SubmissionID(id)
	}
	return out
}
