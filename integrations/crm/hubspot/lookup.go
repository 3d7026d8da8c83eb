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

	found, err := d.readBatch(ctx, opLookUp, d.contacts, batchSize, addresses, map[string]any{
		"idProperty": crm.PropEmail,
		"properties": []string{crm.PropEmail, propSecondary},
	})
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		for _, address := range c.addresses() {
			present[address] = true
		}
	}

	for _, address := range addresses {
		if present[address] {
			continue
		}
		_, err := d.lookUp(ctx, address)
		if err != nil && !errors.Is(err, errNotFound) {
			return nil, err
		}
		present[address] = err == nil
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

// readBatch reads records by their ids, or by a unique property, in batches of a size. An
// empty key is never looked up: it would find what has no value.
func (d *Driver) readBatch(
	ctx context.Context, op, path string, size int, keys []string, body map[string]any,
) (found []record, err error) {
	keys = slices.DeleteFunc(slices.Sorted(slices.Values(keys)), func(key string) bool { return key == "" })
	for batch := range slices.Chunk(slices.Compact(keys), size) {
		inputs := make([]map[string]string, len(batch))
		for i, key := range batch {
			inputs[i] = map[string]string{"id": key}
		}
		body["inputs"] = inputs
		page, err := d.readRecords(ctx, op, path+"/batch/read", body)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Results...)
	}
	return found, nil
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
