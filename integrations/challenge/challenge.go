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
	// moment ago. An error is an *upstream.Error: the vendor could not be asked, or does
	// not know us, and nothing can be said of the token. It returns soon.
	Verify(ctx context.Context, token string) (bool, error)
}
