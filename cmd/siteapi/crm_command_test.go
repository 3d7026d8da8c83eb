package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

func removeFile(t *testing.T, parts ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(parts...)); err != nil {
		t.Fatal(err)
	}
}

func TestCRMSetup(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, far *farEnds, more map[string]string) (string, int) {
		return command(t, append(far.environ(more), "ENVIRONMENT=development"), "crm", "setup")
	}
	t.Run("once and again", func(t *testing.T) {
		t.Parallel()
		far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
		out, code := setup(t, far, nil)
		if code != 0 || strings.Count(out, ": created\n") != 11 {
			t.Errorf("%d %s", code, out)
		}
		for _, name := range []string{"group quote_calculator", "quote_project_type", "quote_features", "quote_complexity", "quote_timeline", "quote_min",
			"quote_max", "quote_currency", "quote_submission_id", "quote_submitted_at", "quote_pdf_url"} {
			if !strings.Contains(out, name+": created") {
				t.Errorf("%s is not among\n%s", name, out)
			}
		}
		if out, code = setup(t, far, nil); code != 0 || strings.Count(out, ": exists already") != 11 {
			t.Errorf("again: %d %s", code, out)
		}
	})
	t.Run("a token without the right", func(t *testing.T) {
		t.Parallel()
		out, code := setup(t, newFarEnds(t, sanitytest.Options{}, hubspottest.Options{NoSchemas: true}), nil)
		if code != exitFailed || !strings.Contains(out, "crm.schemas.contacts.write") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("away in the middle", func(t *testing.T) {
		t.Parallel()
		far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
		far.crm.Fail(hubspottest.Answer(503, nil).On("POST", "/properties/contacts/groups").Times(0), hubspottest.Answer(503, nil))
		out, code := setup(t, far, nil)
		if code != exitFailed || !strings.Contains(out, "repeat the command") {
			t.Errorf("%d %s", code, out)
		}
		far.recover()
		if out, code := setup(t, far, nil); code != 0 || !strings.Contains(out, "created") {
			t.Errorf("again: %d %s", code, out)
		}
	})
	t.Run("the driver needs none", func(t *testing.T) {
		t.Parallel()
		far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
		if out, code := setup(t, far, map[string]string{"CRM_DRIVER": "file"}); code != 0 || !strings.Contains(out, "needs no preparation") {
			t.Errorf("%d %s", code, out)
		}
	})
}
