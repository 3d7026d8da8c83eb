package manuals

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// workflow is the part of a GitHub workflow that the tests look at.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]workflowJob
}

type workflowJob struct {
	Needs       string
	Uses        string
	Permissions map[string]string
	Steps       []workflowStep
}

type workflowStep struct {
	Uses string
	Run  string
	With map[string]any
}

// runs reports whether a step uses the action or runs a command with the text.
func (j workflowJob) runs(text string) bool {
	return slices.ContainsFunc(j.Steps, func(s workflowStep) bool {
		return strings.HasPrefix(s.Uses, text+"@") || strings.Contains(s.Run, text)
	})
}

// readWorkflow returns a workflow and its text.
func readWorkflow(t *testing.T, name string) (w workflow, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../.github/workflows", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w, string(data)
}

func TestWorkflowsTrustLittle(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`uses: ([\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\S+)$`)

	for _, name := range []string{"ci.yml", "release.yml"} {
		w, text := readWorkflow(t, name)
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: every job has the permissions %v", name, w.Permissions)
		}

		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.Contains(line, "uses: ") && !pinned.MatchString(line) {
				t.Errorf("%s: the action is not pinned by commit, with its version: %s", name, line)
			}
			if strings.Contains(line, "|| true") || strings.Contains(line, "continue-on-error") {
				t.Errorf("%s: the step can't fail: %s", name, line)
			}
			if version, ok := strings.CutPrefix(line, "go-version: "); ok && strings.Trim(version, `"`) != goVersion(t) {
				t.Errorf("%s: Go %s is not the version of go.mod", name, version)
			}
		}
	}
}

func TestReleaseWorkflow(t *testing.T) {
	t.Parallel()
	w, _ := readWorkflow(t, "release.yml")
	if w.Jobs["test"].Uses != "./.github/workflows/ci.yml" {
		t.Error("the sources of a release are not tested")
	}

	for _, name := range []string{"binaries", "image"} {
		job := w.Jobs[name]
		if job.Needs != "test" || job.Permissions["attestations"] != "write" ||
			!job.runs("actions/attest-build-provenance") {
			t.Errorf("the job %s does not wait for the tests, or attests no provenance", name)
		}
	}
	if job := w.Jobs["binaries"]; !job.runs("make release") || !job.runs("gh release create") {
		t.Error("no binaries are published")
	}

	ci, _ := readWorkflow(t, "ci.yml")
	if !ci.Jobs["test"].runs(".ci/run") || !ci.Jobs["vulnerabilities"].runs("govulncheck") {
		t.Error("a change is not checked")
	}
	if depth := ci.Jobs["test"].Steps[0].With["fetch-depth"]; fmt.Sprint(depth) != "0" {
		t.Errorf("%v commits are fetched: without all tags the schema is compared with no release", depth)
	}
}

// TestDependabot compares the folders that Dependabot looks into with the files that name
// dependencies.
func TestDependabot(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../.github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, u := range file.Updates {
		if u.Directory != "" {
			u.Directories = append(u.Directories, u.Directory)
		}
		for _, dir := range u.Directories {
			got = append(got, u.Ecosystem+" "+dir)
		}
	}

	want := []string{"github-actions /"}
	ecosystems := map[string]string{
		"go.mod":            "gomod",
		"package-lock.json": "npm",
		"Dockerfile":        "docker",
		"compose.yaml":      "docker-compose",
	}
	err = fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "bin", "data"}, d.Name()) {
			return fs.SkipDir
		}
		if ecosystem, ok := ecosystems[d.Name()]; ok {
			want = append(want, ecosystem+" "+path.Join("/", path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Dependabot looks into %q, dependencies are named in %q", got, want)
	}
}
