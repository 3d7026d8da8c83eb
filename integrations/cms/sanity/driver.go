// Package sanity is the driver for Sanity's content lake. It reads content with one GROQ
// query per locale and stores leads as documents with deterministic ids. It uses only the
// live API, never the CDN, whose responses may be a minute old. References to other
// documents are not resolved, but the addresses of images and files are derived from
// their ids.
//
// Responses are translated to an [upstream.Kind] as follows:
//
//	none, truncated, slow, too large     Unavailable
//	2xx that is not the expected JSON    Unavailable
//	2xx that does not confirm a lead     Unavailable
//	3xx, 408, 423, 425, 5xx              Unavailable
//	400, 405, 410, 413, 422, other 4xx   Rejected
//	401, 403                             Refused (the token); content is read without it
//	402, 404                             Refused (the plan; project, dataset or version)
//	409                                  Unavailable (a concurrent transaction)
//	429                                  Limited, with Retry-After if present
//	4xx except 429 without a JSON body   Unavailable (from a proxy, not from Sanity)
package sanity

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"siteapi/integrations/upstream"
)

const (
	// system is the driver's name in errors and observations.
	system = "sanity"
	// timeout bounds each call.
	timeout = 5 * time.Second
	// maxResponse bounds a response, which may contain all documents of a locale, in bytes.
	maxResponse = 32 << 20
)

// Options selects a dataset and configures access to it.
type Options struct {
	// ProjectID and Dataset identify the content lake.
	ProjectID, Dataset string
	// APIVersion is a date, 2021-03-25 or later, with or without a leading v.
	APIVersion string
	// Token needs the right to read and write documents of type quoteSubmission. If it is
	// empty, the content of a public dataset can be read and leads are refused.
	Token string
	// APIURL replaces https://<ProjectID>.api.sanity.io.
	APIURL string
	// Log receives a warning for each malformed document.
	Log zerolog.Logger
	// Observe is passed to the HTTP client; it may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// Driver implements every interface of package cms.
type Driver struct {
	Options
	client                    *upstream.Client
	haste                     time.Duration // divides the pauses of a watch: 1 except in tests
	liveDocuments, liveDrafts live          // the event streams of published and of all documents
}

// New returns a driver without any I/O. The caller has validated the form of the names.
func New(opts Options) *Driver {
	return &Driver{
		Options: opts,
		client: upstream.New(upstream.Options{
			System:  system,
			BaseURL: cmp.Or(opts.APIURL, "https://"+opts.ProjectID+".api.sanity.io"),
			Token:   opts.Token,
			Timeout: timeout,
			MaxBody: maxResponse,
			Observe: opts.Observe,
		}),
		haste: 1,
	}
}

func (d *Driver) path(api string) string {
	return "/v" + strings.TrimPrefix(d.APIVersion, "v") + "/data/" + api + "/" + d.Dataset
}

// call makes a request and decodes a successful response into v. Private values are kept
// out of errors.
func (d *Driver) call(ctx context.Context, req upstream.Request, v any, private ...string) error {
	resp, err := d.client.Do(ctx, req)
	switch {
	case err != nil:
		return err
	case resp.Status < 200 || resp.Status >= 300:
		return d.failure(req.Op, resp, private...)
	case !utf8.Valid(resp.Body) || resp.Decode(v) != nil:
		return d.client.Failure(req.Op, resp, upstream.Unavailable,
			"the response is not JSON of the expected shape")
	}
	return nil
}
