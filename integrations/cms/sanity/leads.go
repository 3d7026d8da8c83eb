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
	// copiesQuery selects all documents of the given leads, including drafts and versions
	// created by editors.
	copiesQuery = `*[_id in $ids || (_type == $type && submissionId in $names)]._id`
	// byEmailQuery selects the leads submitted with an address, including drafts and
	// versions.
	byEmailQuery = `*[_type == $type && lower(contact.email) == $email].submissionId`
)

// batch is the maximum number of ids in one query or transaction.
const batch = 100

// mutation is one step of a transaction: the name of an operation and its argument.
type mutation map[string]any

// Put stores a lead's document unless it already exists. An editor's changes stay, except
// that a withdrawn consent replaces all stored consents.
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
		err = unavailable(op, "the response does not confirm the document")
	}
	return err
}

// Missing returns the ids without a document. An unpublished document counts as missing.
func (d *Driver) Missing(ctx context.Context, ids []string) ([]string, error) {
	const op = "looking up leads"
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

// Find returns the ids of the leads submitted with an address. It fails if an editor
// removed the submissionId of a document; such a document can only be erased by hand.
func (d *Driver) Find(ctx context.Context, email string) ([]string, error) {
	const op = "looking up leads by e-mail address"
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

// Erase removes the documents of the ids with all their drafts and versions, and verifies
// the deletion.
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

		// The index may not include the documents yet. Deleting a document that does not
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

		remaining, err := d.copies(ctx, op, part)
		if err != nil {
			return err
		}
		if len(remaining) > 0 {
			return unavailable(op, fmt.Sprintf("%d documents still exist", len(remaining)))
		}
	}

	return nil
}

// copies returns the ids of all documents of the given leads.
func (d *Driver) copies(ctx context.Context, op string, ids []string) ([]string, error) {
	return d.ids(ctx, op, copiesQuery,
		map[string]any{"ids": documentIDs(ids), "type": cms.LeadType, "names": ids})
}

// ids runs a query for ids in the raw perspective. A null id is returned as "".
func (d *Driver) ids(ctx context.Context, op, query string, params map[string]any) ([]string, error) {
	found := []string{}
	err := d.query(ctx, groqQuery{op: op, text: query, params: params, perspective: raw}, &found)
	return found, err
}

// mutate runs one atomic transaction and waits until it is visible to queries. It returns
// the ids confirmed by the response.
func (d *Driver) mutate(
	ctx context.Context, op string, mutations []mutation, private ...string,
) (confirmed []string, err error) {
	var response struct {
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
	}, &response, private...)

	for _, r := range response.Results {
		confirmed = append(confirmed, r.ID)
	}
	return confirmed, err
}

// ready rejects calls that cannot succeed before a request is sent: those with an invalid
// id or without a token.
func (d *Driver) ready(op string, ids ...string) error {
	for _, id := range ids {
		if err := cms.CheckLeadID(id); err != nil {
			return &upstream.Error{System: system, Op: op, Kind: upstream.Rejected, Err: err}
		}
	}
	if d.Token == "" {
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
