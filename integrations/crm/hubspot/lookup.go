package hubspot

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

const (
	batchSize    = 100             // addresses that HubSpot takes in one request
	patience     = 2 * waitRolling // longest wait for a rate limit while looking up
	maxWaits     = 30              // waits for a rate limit before one request is given up
	propSecond   = "hs_additional_emails"
	codeNotFound = "OBJECT_NOT_FOUND"
)

// Missing returns the addresses without a contact. It costs a request for each hundred
// addresses and one for each that is not among their primary ones, to find out whether
// it is a secondary one; short rate limits are waited for.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	const op = "looking contacts up"
	if err := ctx.Err(); err != nil {
		return nil, givenUp(op, err)
	}
	asked := map[string]bool{} // by address; true: there is a contact
	var order []string
	for _, email := range emails {
		address := crm.Address(email)
		if _, ok := asked[address]; !ok && crm.Addressable(address) {
			order = append(order, address)
		}
		asked[address] = false
	}
	for len(order) > 0 {
		n := min(len(order), batchSize)
		batch := order[:n]
		order = order[n:]
		if err := d.patiently(ctx, op, func() error { return d.readBatch(ctx, op, batch, asked) }); err != nil {
			return nil, err
		}
		for _, address := range batch {
			if asked[address] {
				continue
			}
			err := d.patiently(ctx, op, func() error {
				_, err := d.byEmail(ctx, op, address)
				return err
			})
			if err != nil && !errors.Is(err, errNoContact) {
				return nil, err
			}
			asked[address] = err == nil
		}
	}
	var missing []string
	for _, email := range emails {
		if !asked[crm.Address(email)] {
			missing = append(missing, email)
		}
	}
	return missing, nil
}

// readBatch marks the addresses that have a contact.
func (d *Driver) readBatch(ctx context.Context, op string, addresses []string, present map[string]bool) error {
	type input struct {
		ID string `json:"id"`
	}
	inputs := make([]input, len(addresses))
	for i, address := range addresses {
		inputs[i].ID = address
	}
	resp, err := d.client.Do(ctx, upstream.Request{
		Op: op, Method: http.MethodPost, Path: d.contacts + "/batch/read", Safe: true,
		Body: map[string]any{
			"idProperty": crm.PropEmail, "properties": []string{crm.PropEmail, propSecond}, "inputs": inputs,
		},
	})
	if err != nil {
		return err
	}
	if resp.Status != http.StatusOK && resp.Status != http.StatusMultiStatus {
		return d.failure(op, resp)
	}
	var answer struct {
		Results *[]contact `json:"results"`
		Errors  []struct {
			Category string `json:"category"`
		} `json:"errors"`
	}
	if err := resp.Decode(&answer); err != nil || answer.Results == nil {
		return d.unexpected(op, resp)
	}
	for _, e := range answer.Errors {
		// Addresses without a contact come as an error. Any other one means that the
		// answer is not complete.
		if e.Category != codeNotFound {
			return d.client.Failure(op, resp, upstream.Unavailable, joined("the answer is not complete", e.Category))
		}
	}
	for _, c := range *answer.Results {
		held := c.held()
		for _, address := range append(strings.Split(held[propSecond], ";"), held[crm.PropEmail]) {
			present[crm.Address(address)] = true
		}
	}
	return nil
}

// patiently repeats a lookup that ran into a short rate limit after the wait HubSpot
// asks for. Nobody waits for its answer at a web site.
func (d *Driver) patiently(ctx context.Context, op string, lookup func() error) error {
	for waits := 0; ; waits++ {
		err := lookup()
		wait := upstream.RetryAfter(err)
		var e *upstream.Error
		if !errors.As(err, &e) || e.Kind != upstream.Limited || wait <= 0 || wait > patience || waits == maxWaits {
			return err
		}
		if err := d.sleep(ctx, wait); err != nil {
			return givenUp(op, err)
		}
	}
}

// Erase deletes the contact for good. It uses the endpoint made for the right to
// erasure rather than the one that archives, because archived contacts can be restored
// for 90 days. The contact is named by its id: by an address that is not found,
// that endpoint would block the address for the future.
func (d *Driver) Erase(ctx context.Context, email string) error {
	const op = "erasing the contact"
	if !crm.Addressable(email) {
		return nil
	}
	address := crm.Address(email)
	release, err := d.turns.take(ctx, address)
	if err != nil {
		return givenUp(op, err)
	}
	defer release()
	c, err := d.byEmail(ctx, op, address)
	if errors.Is(err, errNoContact) {
		return nil
	}
	if err != nil {
		return err
	}
	resp, err := d.client.Do(ctx, upstream.Request{
		Op: op, Method: http.MethodPost, Path: d.contacts + "/gdpr-delete",
		Body: map[string]string{"objectId": c.ID},
	})
	if err != nil {
		return err
	}
	switch resp.Status {
	case http.StatusNoContent:
		return nil
	case http.StatusOK:
		return d.unexpected(op, resp) // somebody answers, but who deletes says 204
	case http.StatusNotFound:
		// Either the contact went meanwhile or the endpoint isn't there: look again.
		if _, err := d.byEmail(ctx, op, address); errors.Is(err, errNoContact) {
			return nil
		}
	}
	return d.failure(op, resp)
}
