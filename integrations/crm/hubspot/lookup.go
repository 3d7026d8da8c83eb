package hubspot

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

const (
	// batchSize is HubSpot's limit of addresses per request.
	batchSize = 100
	// maxPause is the longest rate limit that a lookup waits for.
	maxPause = 20 * time.Second
	// maxPauses is the number of pauses after which a request fails.
	maxPauses = 30

	opLookUp = "looking up contacts"
)

// Missing returns the addresses without a contact. It makes one request for each hundred
// addresses, and another one for each address that is not among the returned contacts. It
// waits for short rate limits.
func (d *Driver) Missing(ctx context.Context, emails []string) ([]string, error) {
	present := map[string]bool{}
	var addresses []string
	for _, email := range emails {
		if crm.Addressable(email) {
			addresses = append(addresses, crm.Address(email))
		}
	}

	slices.Sort(addresses)
	for batch := range slices.Chunk(slices.Compact(addresses), batchSize) {
		found, err := d.readRecords(ctx, opLookUp, d.contacts+"/batch/read", map[string]any{
			"idProperty": crm.PropEmail,
			"properties": []string{crm.PropEmail, propSecondary},
			"inputs":     inputs(batch),
		})
		if err != nil {
			return nil, err
		}
		for _, c := range found.Results {
			for _, address := range c.addresses() {
				present[address] = true
			}
		}

		for _, address := range batch {
			if present[address] {
				continue
			}
			_, err := d.lookUp(ctx, address)
			if err != nil && !errors.Is(err, errNotFound) {
				return nil, err
			}
			present[address] = err == nil
		}
	}

	return slices.DeleteFunc(slices.Clone(emails), func(email string) bool {
		return present[crm.Address(email)]
	}), nil
}

// lookUp returns the contact with an address. It waits for short rate limits.
func (d *Driver) lookUp(ctx context.Context, address string) (c *record, err error) {
	err = waitingForLimits(ctx, func() error {
		c, err = d.byEmail(ctx, opLookUp, address)
		return err
	})
	return c, err
}

// inputs returns the inputs of a batch request for records, by their ids or by a property.
func inputs(keys []string) []map[string]string {
	list := make([]map[string]string, len(keys))
	for i, key := range keys {
		list[i] = map[string]string{"id": key}
	}
	return list
}

// readRecords sends a read-only request for records, and waits for short rate limits.
func (d *Driver) readRecords(ctx context.Context, op, path string, body any) (*list[record], error) {
	var found list[record]
	err := waitingForLimits(ctx, func() error {
		return d.call(ctx, upstream.Request{
			Op:     op,
			Method: http.MethodPost,
			Path:   path,
			Safe:   true,
			Body:   body,
		}, &found)
	})
	return &found, err
}

// waitingForLimits repeats a lookup after each short rate limit.
func waitingForLimits(ctx context.Context, lookup func() error) error {
	for pauses := 0; ; pauses++ {
		err := lookup()
		limited, ok := errors.AsType[*upstream.Error](err)
		if !ok || limited.Kind != upstream.Limited || pauses == maxPauses {
			return err
		}

		pause := max(limited.RetryAfter, limited.Pause)
		if pause > maxPause {
			return err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Erase permanently deletes the contact with HubSpot's endpoint for the right to erasure:
// archived contacts could be restored for 90 days. It identifies the contact by its id,
// because the endpoint permanently blocks unknown addresses.
func (d *Driver) Erase(ctx context.Context, email string) error {
	const op = "erasing the contact"
	if !crm.Addressable(email) {
		return nil
	}

	address := crm.Address(email)
	defer d.lock(address)()
	c, err := d.byEmail(ctx, op, address)
	if errors.Is(err, errNotFound) {
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
	switch {
	case err != nil:
		return err
	case resp.Status == http.StatusNoContent:
		return nil
	case resp.Status == http.StatusOK:
		return d.unexpected(op, resp) // the status of a deletion is 204
	}
	return d.failure(op, resp)
}
