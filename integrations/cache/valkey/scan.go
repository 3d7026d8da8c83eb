package valkey

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
	"siteapi/integrations/valkeyconn"
)

// runID is what a server calls itself from its start to its end.
var runID = regexp.MustCompile(`(?m)^run_id:(\w+)`)

// DropRestored prepares a connection: the first one after each start of the server removes
// everything below the prefix that the server has restored from its disk. Instances that
// connect at the same time may all do so, which costs no more than filling again.
func DropRestored(prefix string) valkeyconn.Prepare {
	return func(ctx context.Context, client valkey.Client) error {
		info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
		if err != nil {
			return fmt.Errorf("asking the server when it started: %w", err)
		}
		found := runID.FindStringSubmatch(info)
		if found == nil {
			return errors.New("the server does not say its run_id")
		}

		known, err := client.Do(ctx, client.B().Get().Key(prefix+"run").Build()).ToString()
		if err != nil && !valkey.IsValkeyNil(err) {
			return fmt.Errorf("reading for which start of the server the cache is valid: %w", err)
		}
		if known == found[1] {
			return nil
		}

		for _, kind := range []string{"lease:", "entry:"} {
			err := scan(ctx, client, prefix+kind, func(keys []string) error {
				for i, key := range keys {
					keys[i] = prefix + kind + key
				}
				return client.Do(ctx, client.B().Unlink().Key(keys...).Build()).Error()
			})
			if err != nil {
				return fmt.Errorf("removing what the server restored: %w", err)
			}
		}

		err = client.Do(ctx, client.B().Set().Key(prefix+"run").Value(found[1]).Build()).Error()
		if _, refused := valkey.IsValkeyErr(err); refused {
			return nil // it has no memory left: the next connection does this again
		}
		return err
	}
}

// scan calls found with the keys whose names begin with a prefix, in batches.
func scan(ctx context.Context, client valkey.Client, prefix string, found func(keys []string) error) error {
	seen := map[string]bool{} // a scan may return a key twice
	for cursor := uint64(0); ; {
		command := client.B().Scan().Cursor(cursor).Match(cache.Escape(prefix) + "*").Count(1000).Build()
		step, err := client.Do(ctx, command).AsScanEntry()
		if err != nil {
			return err
		}

		var keys []string
		for _, name := range step.Elements {
			if !seen[name] {
				seen[name] = true
				keys = append(keys, name[len(prefix):])
			}
		}

		if len(keys) > 0 {
			if err := found(keys); err != nil {
				return err
			}
		}

		if cursor = step.Cursor; cursor == 0 {
			return nil
		}
	}
}
