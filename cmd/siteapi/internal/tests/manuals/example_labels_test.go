package manuals

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/apptest"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/pdf"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// sampleDocument has the fields of the sample content that the tests read.
type sampleDocument struct {
	ID       string `json:"_id"`
	Type     string `json:"_type"`
	Slug     struct{ Current string }
	Language string
	Label    map[string]string
}

func sampleDocuments(t *testing.T) (docs []sampleDocument) {
	t.Helper()
	must(t, json.Unmarshal(cmsfile.Sample(), &docs))
	return docs
}

// localized matches a selection of a localized text, and a translated text of the sample
// content, which may have placeholders.
var localized = regexp.MustCompile(`\{\s*"?en\b(?:[^{}]|\{\w+\})*\bes\b(?:[^{}]|\{\w+\})*\}`)

// TestEveryLocaleIsComplete reports what a locale of the schema lacks: the words of the
// PDF, a field of LocalizedString and its selections, a string of the sample content or an
// entry in the studio.
func TestEveryLocaleIsComplete(t *testing.T) {
	t.Parallel()
	studio := manual(t, "integrations/cms/sanity/studio/locales.ts")

	for _, locale := range schema.AllLocale {
		if !strings.Contains(studio, "{id: '"+string(locale)+"'") {
			t.Errorf("integrations/cms/sanity/studio/locales.ts lacks %s", locale)
		}
		if !strings.Contains(manual(t, "cmd/siteapi/internal/pages/calculator/index.html"), `<p lang="`+string(locale)+`"`) {
			t.Errorf("calculator/index.html has no note in %s for browsers without script", locale)
		}
		if _, err := os.Stat("../../integrations/pdf/words/" + string(locale) + ".json"); err != nil {
			t.Errorf("integrations/pdf/words lacks %s.json", locale)
		}
		if exec.AST().Types["LocalizedString"].Fields.ForName(string(locale)) == nil {
			t.Errorf("LocalizedString in schema/site.graphqls has no field %s", locale)
		}

		for _, file := range []string{
			"integrations/cms/file/sample.json",
			"schema/operations/settings.graphql",
			"schema/clients/operations.graphql",
			"cmd/siteapi/internal/pages/calculator/operations.graphql",
			"cmd/siteapi/internal/pages/playground/operations.js",
		} {
			for _, text := range localized.FindAllString(manual(t, file), -1) {
				if !regexp.MustCompile(`\b` + string(locale) + `\b`).MatchString(text) {
					t.Errorf("%s has no %s in %s", file, locale, text)
				}
			}
		}

		hero := slices.ContainsFunc(sampleDocuments(t), func(doc sampleDocument) bool {
			return doc.Type == "heroSection" && doc.Language == string(locale)
		})
		if !hero {
			t.Errorf("integrations/cms/file/sample.json has no heroSection in %s", locale)
		}
	}
}

// TestEverySettingHasAValue reports the fields of SiteSettings that are null with the
// sample content, and those that the studio lacks.
func TestEverySettingHasAValue(t *testing.T) {
	t.Parallel()
	studio := manual(t, "integrations/cms/sanity/studio/schemas/siteSettings.ts")

	var selection func(name string) string
	selection = func(name string) string {
		def := exec.AST().Types[name]
		if def.Kind != ast.Object {
			return ""
		}

		fields := "{"
		for _, f := range def.Fields {
			if name != "LocalizedString" && name != "ImageAsset" && name != "Logo" && name != "ShareImage" &&
				!strings.HasSuffix(strings.ToLower(f.Name), "link") && // computed from the number
				!regexp.MustCompile(`\b`+f.Name+`\b`).MatchString(studio) {
				t.Errorf("integrations/cms/sanity/studio/schemas/siteSettings.ts lacks %s of %s",
					f.Name, name)
			}
			fields += " " + f.Name + selection(f.Type.Name())
		}
		return fields + " }"
	}

	s := apptest.Start(t)
	response := s.GraphQLOutcome(
		s.Query(`{ SiteSettings(id: "siteSettings") `+selection("SiteSettings")+` }`, nil))

	var check func(path string, value any)
	check = func(path string, value any) {
		switch value := value.(type) {
		case nil:
			t.Errorf("%s is null: it is not in integrations/cms/file/sample.json, "+
				"or newSettings in resolvers/content/settings.go leaves it out", path)
		case map[string]any:
			if len(value) == 0 {
				t.Errorf("no settings: %s", response)
			}
			for name, below := range value {
				check(path+"."+name, below)
			}
		case []any:
			for _, below := range value {
				check(path, below)
			}
		}
	}

	check("SiteSettings", response.Data)
}

// TestStudioShowsEveryFieldOfALead fails for a field of a lead that the studio's
// quoteSubmission lacks.
func TestStudioShowsEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	studio := manual(t, "integrations/cms/sanity/studio/schemas/quoteSubmission.ts")

	for _, path := range leadtest.Fields() {
		name := path[strings.LastIndex(path, ".")+1:]
		if name == "id" {
			name = "submissionId"
		}

		if !strings.Contains(studio, "'"+name+"'") && !strings.Contains(studio, name+": '") {
			t.Errorf("integrations/cms/sanity/studio/schemas/quoteSubmission.ts lacks %s", path)
		}
	}
}

// TestCommandsShowEveryFieldOfALead fails for a field of a lead that `leads show` or `leads
// person` leaves out.
func TestCommandsShowEveryFieldOfALead(t *testing.T) {
	t.Parallel()
	list, err := operations.All()
	must(t, err)
	for name, root := range map[string]string{"ShowLead": "lead.", "ShowPerson": "person.leads."} {
		i := slices.IndexFunc(list, func(op *operations.Operation) bool { return op.Name == name })
		shown := map[string]bool{}
		var collect func(path string, selections ast.SelectionSet)
		collect = func(path string, selections ast.SelectionSet) {
			for _, selection := range selections {
				switch s := selection.(type) {
				case *ast.Field:
					shown[path+s.Name] = true
					collect(path+s.Name+".", s.SelectionSet)
				case *ast.FragmentSpread:
					collect(path, s.Definition.SelectionSet)
				}
			}
		}
		collect("", list[i].SelectionSet)

		for _, path := range leadtest.Fields() {
			if !shown[root+path] {
				t.Errorf("%s in schema/operations leaves out %s", name, path)
			}
		}
	}
}

// TestStudioHasTheFirmsTexts fails for a text that the firm can write but that the studio
// or the manual lacks.
func TestStudioHasTheFirmsTexts(t *testing.T) {
	t.Parallel()
	for file, form := range map[string]string{
		"integrations/cms/sanity/studio/schemas/quoteTexts.ts": "text('%s',",
		"cmd/siteapi/OPERATIONS.md":                            "`%s`",
	} {
		text := manual(t, file)
		for _, name := range pdf.TextNames() {
			if !strings.Contains(text, fmt.Sprintf(form, name)) {
				t.Errorf("%s lacks %s", file, name)
			}
		}
	}
}
