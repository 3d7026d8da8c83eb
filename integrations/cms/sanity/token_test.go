package sanity_test

import (
	"slices"
	"testing"

	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream"
)

func TestTokenWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	auths := func(lake *sanitytest.Server) (out []string) {
		for _, r := range lake.Requests() {
			out = append(out, r.Auth)
		}
		return out
	}
	t.Run("a private dataset is learnt once", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{Private: true})
		replace(t, lake, `{"_id":"p","_type":"page"}`)
		d := driver(t, lake, sanity.Options{})
		for range 2 {
			if docs, err := d.Fetch(t.Context(), pageQuery); err != nil || len(docs) != 1 {
				t.Fatalf("%d documents, %v", len(docs), err)
			}
		}
		if got := auths(lake); !slices.Equal(got, []string{"none", "write", "write"}) {
			t.Errorf("rights %q", got)
		}
	})
	t.Run("a private dataset that says so", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{Private: true})
		replace(t, lake, `{"_id":"p","_type":"page"}`)
		lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 401})
		if docs, err := driver(t, lake, sanity.Options{}).Fetch(t.Context(), pageQuery); err != nil || len(docs) != 1 {
			t.Errorf("%d documents, %v", len(docs), err)
		}
	})
	t.Run("a wrong token leaves public content alone", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{})
		replace(t, lake, `{"_id":"p","_type":"page"}`)
		d := driver(t, lake, sanity.Options{Token: "revoked"})
		if docs, err := d.Fetch(t.Context(), pageQuery); err != nil || len(docs) != 1 {
			t.Errorf("%d documents, %v", len(docs), err)
		}
		check(t, d.Ping(t.Context()), upstream.Refused, 0)
		check(t, d.Put(t.Context(), cmstest.Submission("a")), upstream.Refused, 0)
	})
	t.Run("a wrong token never empties a private dataset", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{Private: true})
		replace(t, lake, `{"_id":"p","_type":"page"}`)
		_, err := driver(t, lake, sanity.Options{Token: "revoked"}).Fetch(t.Context(), pageQuery)
		check(t, err, upstream.Refused, 0)
	})
	t.Run("a reading token may not store", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{ReadToken: "reader"})
		check(t, driver(t, lake, sanity.Options{Token: "reader"}).Put(t.Context(), cmstest.Submission("a")), upstream.Refused, 0)
	})
	t.Run("without any, nothing is sent", func(t *testing.T) {
		t.Parallel()
		lake := start(t, sanitytest.Options{})
		d := driver(t, lake, sanity.Options{Token: "none"})
		check(t, d.Put(t.Context(), cmstest.Submission("a")), upstream.Refused, 0)
		check(t, d.Erase(t.Context(), []string{"a"}), upstream.Refused, 0)
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping: %v", err)
		}
		if n := len(lake.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}
