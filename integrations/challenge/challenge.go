// Package challenge is the contract with a bot check: a page solves a challenge of some
// vendor in the visitor's browser and sends along the token it got for it. The driver
// lives in the folder below.
package challenge

import "context"

// MaxToken is the longest token that is passed on, in bytes.
const MaxToken = 2048

// Verifier asks the vendor about tokens.
type Verifier interface {
	// Verify reports whether a token was given out to somebody who solved the challenge a
	// moment ago. A token is good for one attempt, however often that is repeated. An error
	// is an *upstream.Error: nothing can be said of the token. It returns soon.
	Verify(ctx context.Context, token, attempt string) (bool, error)
}
