package manuals

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// That the files are workflows is for actionlint to say, which CI runs.
func TestWorkflowsTrustLittle(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`uses: ([\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\S+)$`)

	for _, name := range []string{"ci.yml", "release.yml"} {
		text := manual(t, ".github/workflows/"+name)
		if !strings.Contains(text, "\npermissions:\n  contents: read\njobs:\n") {
			t.Errorf("%s: every job has more permissions than to read the sources", name)
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
