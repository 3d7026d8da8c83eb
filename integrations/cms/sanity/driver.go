// Package sanity is the driver for Sanity's content lake: content by one GROQ query per
// locale, submissions as documents with deterministic ids.
//
// Only the live API is asked, never the CDN, whose answers may be a minute old. Its own
// index may still lag behind a webhook by some seconds, so whoever reacts to one fetches
// at once and once more a little later.
//
// The token is sent where it is needed. Content is read without it, so that a token that
// has been revoked costs no visitor anything. A private dataset answers such a reader with
// 401, 403 or with nothing at all: then the token is tried, and from then on used.
//
// What an answer means, by its [upstream.Kind]:
//
//	no answer, cut off, slow, too large       Unavailable
//	2xx that is not the JSON it should be      Unavailable
//	2xx that confirms nothing                  looked up: success if stored, else Unavailable
//	3xx                                        Unavailable
//	400, 405, 410, 413, 422, other 4xx         Rejected
//	401, 403                                   Refused (the token)
//	402, 404                                   Refused (the plan; project, dataset or version)
//	408, 423, 425, 5xx                         Unavailable
//	409, the document exists                   looked up: success if stored, else Unavailable
//	409, anything else                         Unavailable (a concurrent transaction)
//	429                                        Limited, with Retry-After if it is sent
//	any 4xx but 429 whose body is not JSON     Unavailable (a proxy's page, not Sanity's)
//
// Known limits: references are not followed, except that the addresses of pictures and
// files are derived from their ids; and a document that an editor has unpublished counts
// as missing.
package sanity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

const (
	// system is the driver's name in errors and observations.
	system = "sanity"
	// DefaultAPIVersion is the version of the API that the driver was written against.
	DefaultAPIVersion = "2025-02-19"
	// oldestAPIVersion is the first that knows the published perspective.
	oldestAPIVersion = "2021-03-25"
	// assetCDN serves pictures and files, which never change under one address.
	assetCDN = "https://cdn.sanity.io"
	// maxAnswer is how large an answer may be: all documents of a locale.
	maxAnswer = 32 << 20
)

// Options says which dataset is meant and how to reach it.
type Options struct {
	// ProjectID and Dataset name the content lake.
	ProjectID, Dataset string
	// APIVersion is a date, with or without a leading v. Empty: DefaultAPIVersion.
	APIVersion string
	// Token needs the right to read and write documents of type quoteSubmission. Empty:
	// content of a public dataset can be read, submissions are refused.
	Token string
	// APIURL replaces https://<ProjectID>.api.sanity.io.
	APIURL string
	// LanguageField names the field with a document's language. Empty: cms.LanguageField.
	LanguageField string
	// Timeout bounds each call. 0: upstream.DefaultTimeout.
	Timeout time.Duration
	// Retries is how often reading content is tried again at once. 0: never.
	Retries int
	// Transport and Observe are handed to the HTTP client; both may be nil.
	Transport http.RoundTripper
	Observe   func(ctx context.Context, c upstream.Call)
}

// Driver implements cms.Content and cms.Submissions.
type Driver struct {
	client  *upstream.Client
	version string // with its v
	dataset string
	hasAuth bool
	groq    string // the content query
	decoder cms.Decoder
	// private is set once content has shown only to a reader with the token.
	private atomic.Bool
}

var (
	_ cms.Content     = (*Driver)(nil)
	_ cms.Submissions = (*Driver)(nil)
)

// What names may look like. They become part of addresses and queries.
var (
	projectForm  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	datasetForm  = regexp.MustCompile(`^~?[a-z0-9][a-z0-9_-]{0,63}$`)
	languageForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
)

// New checks the options, all of them at once, and returns a driver. It does no I/O.
func New(opts Options) (*Driver, error) {
	if opts.APIVersion == "" {
		opts.APIVersion = DefaultAPIVersion
	}
	if opts.LanguageField == "" {
		opts.LanguageField = cms.LanguageField
	}
	if opts.APIURL == "" {
		opts.APIURL = "https://" + opts.ProjectID + ".api.sanity.io"
	}
	version := strings.TrimPrefix(opts.APIVersion, "v")
	if err := errors.Join(
		check(projectForm.MatchString(opts.ProjectID), "the project id %q is not one: lower-case letters, digits and hyphens", opts.ProjectID),
		check(datasetForm.MatchString(opts.Dataset), "the dataset %q is not one: lower-case letters, digits, hyphens and underscores", opts.Dataset),
		check(languageForm.MatchString(opts.LanguageField), "the language field %q is not a field name", opts.LanguageField),
		checkVersion(version),
		checkAddress(opts.APIURL),
	); err != nil {
		return nil, err
	}
	return &Driver{
		client: upstream.New(upstream.Options{
			System: system, BaseURL: opts.APIURL, Token: opts.Token, Timeout: opts.Timeout, MaxBody: maxAnswer,
			Retries: opts.Retries, Transport: opts.Transport, Observe: opts.Observe,
		}),
		version: "v" + version,
		dataset: opts.Dataset,
		hasAuth: opts.Token != "",
		groq:    strings.ReplaceAll(contentQuery, "language", opts.LanguageField),
		decoder: cms.Decoder{
			LanguageField: opts.LanguageField,
			AssetURL: func(ref string) string {
				return cms.AssetURL(assetCDN, opts.ProjectID, opts.Dataset, ref)
			},
		},
	}, nil
}

func check(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func checkVersion(version string) error {
	if _, err := time.Parse(time.DateOnly, version); err != nil {
		return fmt.Errorf("the API version %q is not a date such as %s", version, DefaultAPIVersion)
	}
	return check(version >= oldestAPIVersion, "the API version %s is older than %s, the first that knows the published perspective", version, oldestAPIVersion)
}

func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the API address is not an http or https URL")
	}
	return check(!strings.Contains(u.Hostname(), ".apicdn."), "the API address is that of the CDN, whose answers may be old: use the one with .api.")
}
