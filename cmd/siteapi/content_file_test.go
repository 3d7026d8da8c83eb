package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMalformedEntryOfTheContentFileIsLeftOut writes content files in which one entry is no
// document: the others are served, at the start and after an edit.
func TestMalformedEntryOfTheContentFileIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "site.json")
	write := func(phone, malformed string) {
		t.Helper()
		text := `[{"_id":"siteSettings","_type":"siteSettings","contactPhone":"` + phone + `"},` + malformed + `]`
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("+44 1", `{"_id":"hero","title":"no _type"}`)
	r := launch(t, dir, "CMS_FILE="+path)
	phone := func() string {
		resp, err := http.Post(r.base+"/graphql", "application/json",
			strings.NewReader(`{"query":"{ SiteSettings(id: \"siteSettings\") { contactPhone } }"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var answer struct {
			Data struct{ SiteSettings struct{ ContactPhone string } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Data.SiteSettings.ContactPhone
	}
	if got := phone(); got != "+44 1" {
		t.Fatalf("at the start the phone is %q", got)
	}
	for _, edit := range []struct{ phone, malformed string }{
		{"+44 2", `{"_id":"two words","_type":"page"}`},
		{"+44 3", `7`},
		{"+44 4", `{"_id":"siteSettings","_type":"siteSettings","contactPhone":"a second one"}`},
		{"+44 5", `{"_id":"page","_type":"page","language":["en"]}`},
	} {
		write(edit.phone, edit.malformed)
		eventually(t, "an edit beside "+edit.malformed+" is served", func() bool { return phone() == edit.phone })
	}
}
