package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-resty/resty/v2"
)

// maxRetryWait is the longest a call waits between two tries. A system that wants
// more is not waited for: its answer goes to the caller, who has more patience.
const maxRetryWait = 3 * time.Second

// errNoMoreTries ends resty's loop with the latest answer in hand.
var errNoMoreTries = errors.New("no more tries")

// requestKey is under which the context of a call holds its [Request].
type requestKey struct{}

// OpOf returns what is tried in the context of an HTTP request that a client makes, for
// a transport that is interested. Empty: the request is none of a client's.
func OpOf(ctx context.Context) string {
	req, _ := ctx.Value(requestKey{}).(Request)
	return req.Op
}

func safe(req Request) bool {
	return req.Safe || req.Method == http.MethodGet || req.Method == http.MethodHead
}

// retry switches resty's loop on for requests that are safe to repeat.
func (c *Client) retry(rc *resty.Client) {
	rc.SetRetryCount(c.opts.Retries).SetRetryWaitTime(time.Nanosecond).SetRetryMaxWaitTime(maxRetryWait)
	// resty asks the last condition only, and only it: it must decide everything.
	rc.AddRetryCondition(func(resp *resty.Response, err error) bool {
		if resp == nil || resp.Request == nil {
			return false
		}
		ctx := resp.Request.Context()
		if req, _ := ctx.Value(requestKey{}).(Request); !safe(req) || ctx.Err() != nil {
			return false
		}
		if err != nil {
			return !errors.Is(err, resty.ErrResponseBodyTooLarge)
		}
		kind := StatusKind(resp.StatusCode())
		return resp.StatusCode() >= 400 && (kind == Limited || kind == Unavailable)
	})
	rc.SetRetryAfter(func(_ *resty.Client, resp *resty.Response) (time.Duration, error) {
		wait := c.retryWait(resp)
		if wait > maxRetryWait || !fits(resp.Request.Context(), wait) {
			return 0, errNoMoreTries
		}
		return wait, nil
	})
}

// retryWait is the Retry-After of the answer, else an exponential wait of which a random half is
// taken off so that many clients don't come back at once.
func (c *Client) retryWait(resp *resty.Response) time.Duration {
	if resp.RawResponse != nil {
		if wish := retryAfter(resp.Header(), c.opts.Now()); wish > 0 {
			return wish
		}
	}
	wait := c.opts.RetryWait << min(resp.Request.Attempt-1, 10)
	return wait/2 + rand.N(wait/2+1)
}

// fits reports whether a wait ends before the call's time is up.
func fits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > wait
}
