package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/quote"
	"siteapi/schema"
)

var (
	exampleChoice = regexp.MustCompile(`"?(?:projectType|features|complexity|timeline)"?: (\[[^]]*\]|"[^"]*")`)
	exampleSlug   = regexp.MustCompile(`"([a-z0-9-]+)"`)
)

// TestExamplesHaveWordsInTheSampleContent submits every choice that the examples of the
// playground, the REST operations and the schema make, and reads the PDF: each has words in
// the visitor's language.
func TestExamplesHaveWordsInTheSampleContent(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext is not installed")
	}
	var slugs []string
	for _, pattern := range []string{
		"../../schema/*.graphqls", "../../schema/playground/web/static/operations.js", "../../rest/operations/*.graphql",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, choice := range exampleChoice.FindAllSubmatch(text, -1) {
				for _, slug := range exampleSlug.FindAllSubmatch(choice[1], -1) {
					slugs = append(slugs, string(slug[1]))
				}
			}
		}
	}
	slices.Sort(slugs)
	slugs = slices.Compact(slugs)
	if !slices.Contains(slugs, "auth") || !slices.Contains(slugs, "3-months") {
		t.Fatalf("the examples choose %q", slugs)
	}

	r := launch(t, t.TempDir())
	submission := validSubmission("examples")
	submission["selections"] = object{"projectType": "web-app", "features": slugs}
	status, answer := r.post("/api/quote/submit", submission)
	if status != http.StatusOK {
		t.Fatalf("submit: %d %v", status, answer)
	}
	for _, locale := range []string{"es", "ro"} { // the English words for "medium" are its slug
		resp, err := http.Get(fmt.Sprintf("%s/api/quote/pdf?id=%s&locale=%s", r.base, answer["submissionId"], locale))
		if err != nil {
			t.Fatal(err)
		}
		document, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", locale, resp.StatusCode, err)
		}
		tool := exec.CommandContext(t.Context(), "pdftotext", "-", "-")
		tool.Stdin = strings.NewReader(string(document))
		text, err := tool.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, slug := range slugs {
			words := strings.ReplaceAll(slug, "-", " ") // what stands for a slug without a label
			if slices.ContainsFunc(lines, func(line string) bool { return strings.EqualFold(strings.TrimSpace(line), words) }) {
				t.Errorf("%s has no words for the slug %q:\n%s", locale, slug, text)
			}
		}
	}
}

// TestEveryLocaleIsComplete names what a locale of the schema lacks: the words of the PDF, a field of LocalizedString, the
// sample content, the studio.
func TestEveryLocaleIsComplete(t *testing.T) {
	t.Parallel()
	studio, err := os.ReadFile("../../integrations/cms/sanity/studio/locales.ts")
	if err != nil {
		t.Fatal(err)
	}
	var docs []struct {
		ID       string `json:"_id"`
		Type     string `json:"_type"`
		Language string
		Label    map[string]string
	}
	if err := json.Unmarshal(cmsfile.Sample(), &docs); err != nil {
		t.Fatal(err)
	}
	for _, locale := range schema.AllLocale {
		if !strings.Contains(string(studio), "{id: '"+string(locale)+"'") {
			t.Errorf("integrations/cms/sanity/studio/locales.ts lacks %s", locale)
		}
		if _, err := os.Stat("../../integrations/pdf/words/" + string(locale) + ".json"); err != nil {
			t.Errorf("the PDF has no words in %s: %v", locale, err)
		}
		if schema.AST().Types["LocalizedString"].Fields.ForName(string(locale)) == nil {
			t.Errorf("LocalizedString in schema/site.graphqls has no field %s", locale)
		}
		hero := false
		for _, doc := range docs {
			hero = hero || doc.Type == "heroSection" && doc.Language == string(locale)
			if doc.Type == "quoteOption" && doc.Label[string(locale)] == "" {
				t.Errorf("integrations/cms/file/sample.json: %s has no label in %s", doc.ID, locale)
			}
		}
		if !hero {
			t.Errorf("integrations/cms/file/sample.json has no heroSection in %s", locale)
		}
	}
}

// TestStudioShowsEveryFieldOfALead fails for a field of a lead that the studio's quoteSubmission
// lacks.
func TestStudioShowsEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	studio, err := os.ReadFile("../../integrations/cms/sanity/studio/schemas/quoteSubmission.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range quote.Fields() {
		name := path[strings.LastIndex(path, ".")+1:]
		if name == "id" {
			name = "submissionId"
		}
		if !strings.Contains(string(studio), "'"+name+"'") && !strings.Contains(string(studio), name+": '") {
			t.Errorf("studio/schemas/quoteSubmission.ts lacks %s", path)
		}
	}
}
