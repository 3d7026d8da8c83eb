package sanity

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

const (
	// copiesQuery selects all documents of some leads, with the drafts and versions
	// that editors may have made of them.
	copiesQuery = `*[_id in $ids || (_type == $type && submissionId in $names)]._id`
	// byEmailQuery selects the leads made with an address, drafts and versions too.
	byEmailQuery = `*[_type == $type && lower(contact.email) == $email].submissionId`
)

// batch is how many ids go into one query or transaction.
const batch = 100

// mutation is one step of a transaction: the name of an operation and its argument.
type mutation map[string]any

// Put stores a lead's document unless it exists already: an editor's changes stay, except
// in the consents once one was withdrawn.
func (d *Driver) Put(ctx context.Context, s *lead.Lead) error {
	const op = "storing a lead"
	if err := d.ready(op, s.ID); err != nil {
		return err
	}

	id := cms.LeadDocumentID(s.ID)
	document := cms.NewLeadDocument(s)
	mutations := []mutation{{"createIfNotExists": document}}
	if document.Withdrawn() {
		mutations = append(mutations, mutation{
			"patch": map[string]any{"id": id, "set": map[string]any{"consents": document.Consents}},
		})
	}
	confirmed, err := d.mutate(ctx, op, mutations, s.Personal()...)
	if err == nil && !slices.Contains(confirmed, id) {
		err = unavailable(op, "the answer does not confirm the document")
	}
	return err
}

// Missing returns the ids that have no document. A document that an editor
// unpublished counts as missing.
func (d *Driver) Missing(ctx context.Context, ids []string) ([]string, error) {
	const op = "looking for leads"
	if err := d.ready(op, ids...); err != nil {
		return nil, err
	}

	missing := []string{}
	for part := range slices.Chunk(ids, batch) {
		stored, err := d.copies(ctx, op, part)
		if err != nil {
			return nil, err
		}

		for _, id := range part {
			if !slices.Contains(stored, cms.LeadDocumentID(id)) {
				missing = append(missing, id)
			}
		}
	}

	return missing, nil
}

// Find returns the ids of the leads made with an address. It is an error if an
// editor removed the submissionId of a document, which can then only be erased by hand.
func (d *Driver) Find(ctx context.Context, email string) ([]string, error) {
	const op = "looking for leads of an address"
	if err := d.ready(op); err != nil {
		return nil, err
	}

	email = strings.ToLower(strings.TrimSpace(email))
	if email == "" {
		return []string{}, nil
	}

	ids, err := d.ids(ctx, op, byEmailQuery, map[string]any{"type": cms.LeadType, "email": email})
	if err != nil {
		return nil, err
	}

	if err := d.ready(op, ids...); err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Erase removes the documents of the ids with all their drafts and versions, and checks
// that they are gone.
func (d *Driver) Erase(ctx context.Context, ids []string) error {
	const op = "erasing leads"
	if err := d.ready(op, ids...); err != nil {
		return err
	}

	for part := range slices.Chunk(ids, batch) {
		found, err := d.copies(ctx, op, part)
		if err != nil {
			return err
		}

		// The index may not know the documents themselves yet. Deleting one that does not
		// exist changes nothing.
		found = append(found, documentIDs(part)...)
		slices.Sort(found)

		var deletions []mutation
		for _, id := range slices.Compact(found) {
			deletions = append(deletions, mutation{"delete": map[string]string{"id": id}})
		}

		if _, err := d.mutate(ctx, op, deletions); err != nil {
			return err
		}

		left, err := d.copies(ctx, op, part)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return unavailable(op, fmt.Sprintf("%d documents are still there", len(left)))
		}
	}

	return nil
}

// copies returns the ids of all documents of some leads.
func (d *Driver) copies(ctx context.Context, op string, ids []string) ([]string, error) {
	return d.ids(ctx, op, copiesQuery,
		map[string]any{"ids": documentIDs(ids), "type": cms.LeadType, "names": ids})
}

// ids runs a query for ids in the raw perspective. An id that is null is returned as "".
func (d *Driver) ids(ctx context.Context, op, query string, params map[string]any) ([]string, error) {
	found := []string{}
	err := d.query(ctx, groqQuery{op: op, text: query, params: params, perspective: raw}, &found)
	return found, err
}

// mutate runs one transaction, which takes effect whole or not at all, and waits until
// queries see it. It returns the ids that the answer confirms.
func (d *Driver) mutate(
	ctx context.Context, op string, mutations []mutation, private ...string,
) (confirmed []string, err error) {
	var answer struct {
		Results []struct {
			ID string `json:"id"`
		} `json:"results"`
	}

	err = d.call(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPost,
		Path:   d.path("mutate"),
		Query:  url.Values{"returnIds": {"true"}, "visibility": {"sync"}},
		Body:   map[string]any{"mutations": mutations},
	}, &answer, private...)

	for _, r := range answer.Results {
		confirmed = append(confirmed, r.ID)
	}
	return confirmed, err
}

// ready refuses calls that cannot succeed, before anything is sent: calls with an invalid
// id, or without a token.
func (d *Driver) ready(op string, ids ...string) error {
	for _, id := range ids {
		if err := cms.CheckLeadID(id); err != nil {
			return &upstream.Error{System: system, Op: op, Kind: upstream.Rejected, Err: err}
		}
	}
	if !d.token {
		return &upstream.Error{
			System: system,
			Op:     op,
			Kind:   upstream.Refused,
			Detail: "no token is configured",
		}
	}
	return nil
}

func unavailable(op, detail string) error {
	return &upstream.Error{System: system, Op: op, Kind: upstream.Unavailable, Detail: detail}
}

func documentIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = cms.LeadDocumentID(id)
	}
	return out
}
