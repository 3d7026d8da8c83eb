package sqlstore

import (
	"context"
	"fmt"
	"slices"
)

const (
	insertGeneration = `INSERT INTO generations (key, generation) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET generation = `

	nextGeneration = insertGeneration + `CASE WHEN excluded.generation > generations.generation
  THEN excluded.generation ELSE generations.generation + 1 END`

	importGeneration = insertGeneration + `excluded.generation
WHERE excluded.generation > generations.generation`
)

// NextGenerations gives each key a generation greater than all its earlier ones and than
// after, and returns them.
func (s *Store) NextGenerations(
	ctx context.Context, keys []string, after int64,
) (next map[string]int64, err error) {
	keys = slices.Sorted(slices.Values(keys)) // the same order everywhere, so that none waits for another
	err = s.write(ctx, "recording an invalidation", func(ctx context.Context, tx Tx) error {
		for _, key := range keys {
			if _, err := tx.Exec(ctx, nextGeneration, key, after+1); err != nil {
				return err
			}
		}

		next, err = generations(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// Generations returns the latest generation of each key that has one.
func (s *Store) Generations(ctx context.Context) (map[string]int64, error) {
	found, err := generations(ctx, s.db)
	if err != nil {
		return nil, fmt.Errorf("reading the invalidations: %w", err)
	}
	return found, nil
}

func generations(ctx context.Context, db DB) (map[string]int64, error) {
	found := map[string]int64{}
	err := db.Query(ctx, `SELECT key, generation FROM generations`, nil, func(scan Scan) error {
		var key string
		var generation int64
		err := scan(&key, &generation)
		found[key] = generation
		return err
	})
	return found, err
}
