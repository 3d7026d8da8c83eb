package cache

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"siteapi/integrations/panics"
)

// FillTimeout bounds one fill.
const FillTimeout = 8 * time.Second

// forever is the lifetime of an entry whose Fresh is 0.
const forever = 10 * 365 * 24 * time.Hour

// RetryPause is the pause after a failed refresh.
const RetryPause = time.Second

// Run calls fill for a driver, detached from the request that caused it. It converts a
// panic to an error that includes the stack.
func Run(ctx context.Context, fill Fill) (entry Entry, life Lifetime, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FillTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("filling the cache panicked: " + new(panics.Log).Describe(p))
		}
	}()

	value, life, err := fill(ctx)
	if err != nil {
		return Entry{}, Lifetime{}, err
	}
	if life.Fresh <= 0 {
		life.Fresh = forever
	}

	return Entry{Value: value, Revision: RevisionOf(value)}, life, nil
}

// RevisionOf returns the revision of a value: 22 characters of A-Z a-z 0-9 - _ that
// depend only on its bytes.
func RevisionOf(value []byte) string {
	sum := sha256.Sum256(value)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
