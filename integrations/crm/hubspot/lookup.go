package hubspot

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

const (
	// batchSize is the number of addresses that HubSpot takes in one request.
	batchSize = 100
	// longestPause is the longest rate limit that a lookup waits for.
	longestPause = 20 * time.Second
	// mostPauses is the number of pauses after which a request fails.
	mostPauses = 30
	// propSecondary holds the secondary addresses of a contact, separated by semicolons.
	propSecondary = "hs_additional_emails"
)

// Missing returns the addresses without a contact. It makes one request for each hundred
// addresses, and one for each address that none of the returned contacts has. It waits
// for short rate limits.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	const op = "looking contacts up"
	present := map[string]bool{}
	var addresses []string
	for _, email := range emails {
		if crm.Addressable(email) {
			addresses = append(addresses, crm.Address(email))
		}
	}

	slices.Sort(addresses)
	for batch := range slices.Chunk(slices.Compact(addresses), batchSize) {
		if err := waitingForLimits(ctx, func() error {
			return d.readBatch(ctx, op, batch, present)
		}); err != nil {
			return nil, err
		}

		for _, address := range batch {
			if present[address] {
				continue
			}

			err := waitingForLimits(ctx, func() error {
				_, err := d.byEmail(ctx, op, address)
				return err
			})
			if err != nil && !errors.Is(err, errNoContact) {
				return nil, err
			}
			present[address] = err == nil
		}
	}

	return slices.DeleteFunc(slices.Clone(emails), func(email string) bool {
		return present[crm.Address(email)]
	}), nil
}

// readBatch looks up at most batchSize addresses and adds all addresses of the contacts
// it finds to present.
func (d *Driver) readBatch(
	ctx context.Context, op string, addresses []string, present map[string]bool,
) error {
	inputs := make([]map[string]string, len(addresses))
	for i, address := range addresses {
		inputs[i] = map[string]string{"id": address}
	}

	resp, err := d.client.Do(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPost,
		Path:   d.contacts + "/batch/read",
		Safe:   true,
		Body: map[string]any{
			"idProperty": crm.PropEmail,
			"properties": []string{crm.PropEmail, propSecondary},
			"inputs":     inputs,
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
		missing
	}
	if err := resp.Decode(&answer); err != nil || answer.Results == nil {
		return d.unexpected(op, resp)
	}

	if err := answer.complete(d, op, resp); err != nil {
		return err
	}
	for _, c := range *answer.Results {
		values := c.values()
		for _, address := range append(strings.Split(values[propSecondary], ";"), values[crm.PropEmail]) {
			present[crm.Address(address)] = true
		}
	}

	return nil
}

// missing is what HubSpot could not find of a batch, or could not read.
type missing struct {
	Errors []struct {
		Category string `json:"category"`
	} `json:"errors"`
}

// complete returns an error unless what is missing does not exist.
func (m *missing) complete(d *Driver, op string, resp *upstream.Response) error {
	for _, e := range m.Errors {
		if e.Category != "OBJECT_NOT_FOUND" {
			return d.client.Failure(op, resp, upstream.Unavailable, "the answer is not complete: "+e.Category)
		}
	}
	return nil
}

// waitingForLimits repeats a lookup that ran into a short rate limit.
func waitingForLimits(ctx context.Context, lookup func() error) error {
	for pauses := 0; ; pauses++ {
		err := lookup()
		limited, ok := errors.AsType[*upstream.Error](err)
		if !ok || limited.Kind != upstream.Limited || pauses == mostPauses {
			return err
		}

		pause := max(limited.RetryAfter, limited.Pause)
		if pause > longestPause {
			return err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Erase deletes the contact for good, by the endpoint made for the right to erasure:
// archived contacts could be restored for 90 days. The contact is named by its id,
// because the endpoint blocks an unknown address for the future.
func (d *Driver) Erase(ctx context.Context, email string) error {
	const op = "erasing the contact"
	if !crm.Addressable(email) {
		return nil
	}

	address := crm.Address(email)
	defer d.lock(address)()
	c, err := d.byEmail(ctx, op, address)
	if errors.Is(err, errNoContact) {
		return nil
	}
	if err != nil {
		return err
	}

	resp, err := d.client.Do(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPost,
		Path:   d.contacts + "/gdpr-delete",
		Body:   map[string]string{"objectId": c.ID},
	})
	if err != nil {
		return err
	}

	switch resp.Status {
	case http.StatusNoContent:
		return nil
	case http.StatusOK:
		return d.unexpected(op, resp) // a deletion is answered with 204
	case http.StatusNotFound:
		// Either the contact no longer exists or the endpoint does not.
		if _, err := d.byEmail(ctx, op, address); errors.Is(err, errNoContact) {
			return nil
		}
	}
	return d.failure(op, resp)
}
