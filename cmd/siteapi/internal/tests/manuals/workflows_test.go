package manuals

import (
	"regexp"
	"strings"
	"testing"
)

// TestWorkflowsAreRestricted checks that permissions are minimal, versions are pinned and
// every step can fail. CI also runs actionlint, which checks the syntax.
func TestWorkflowsAreRestricted(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`uses: ([\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\S+)$`)

	for _, name := range []string{"ci.yml", "release.yml"} {
		text := manual(t, ".github/workflows/"+name)
		if !strings.Contains(text, "\npermissions:\n  contents: read\njobs:\n") {
			t.Errorf("%s: the default permissions are not limited to reading the sources", name)
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
