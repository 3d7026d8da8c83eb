package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
		var answer struct {
			Data struct{ SiteSettings struct{ ContactPhone string } }
		}
		if err := json.Unmarshal([]byte(r.query(`{ SiteSettings(id: "siteSettings") { contactPhone } }`)), &answer); err != nil {
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
