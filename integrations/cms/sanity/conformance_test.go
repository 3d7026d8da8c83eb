package sanity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, private := range map[string]bool{"public dataset": false, "private dataset": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmstest.Run(t, func(t *testing.T) cmstest.Subject {
				lake := start(t, sanitytest.Options{Private: private})
				d := driver(t, lake, sanity.Options{})
				return cmstest.Subject{
					Content:     d,
					Submissions: d,
					Replace:     func(t testing.TB, docs ...string) { replace(t, lake, docs...) },
					Stored: func(testing.TB) map[string]json.RawMessage {
						out := map[string]json.RawMessage{}
						for id, raw := range lake.Documents() {
							if strings.HasPrefix(id, "quoteSubmission.") && id != "quoteSubmission.abc" {
								out[id] = raw
							}
						}
						return out
					},
				}
			})
		})
	}
}

// start starts a stand-in of the dataset that the suite speaks of.
func start(t testing.TB, opts sanitytest.Options) *sanitytest.Server {
	t.Helper()
	opts.Project, opts.Dataset = cmstest.Project, cmstest.Dataset
	lake := sanitytest.New(opts)
	t.Cleanup(lake.Close)
	return lake
}

// driver returns a driver for a stand-in.
func driver(t testing.TB, lake *sanitytest.Server, opts sanity.Options) *sanity.Driver {
	t.Helper()
	opts.ProjectID, opts.Dataset, opts.APIURL = cmstest.Project, cmstest.Dataset, lake.URL()
	switch opts.Token {
	case "":
		opts.Token = sanitytest.DefaultToken
	case "none":
		opts.Token = ""
	}
	d, err := sanity.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func replace(t testing.TB, lake *sanitytest.Server, docs ...string) {
	t.Helper()
	var raws []json.RawMessage
	for _, text := range docs {
		raws = append(raws, json.RawMessage(text))
	}
	if err := lake.Replace(raws...); err != nil {
		t.Fatal(err)
	}
}
