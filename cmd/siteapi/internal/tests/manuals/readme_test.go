package manuals

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// manual reads pages of the documentation, relative to the root of the repository.
func manual(t *testing.T, pages ...string) string {
	t.Helper()
	var all strings.Builder
	for _, page := range pages {
		all.WriteString(apptest.File(t, page))
	}
	return all.String()
}

// example is a command of the README with its documented output.
type example struct{ command, output string }

// examples reads the blocks marked `console`.
func examples(text string) []example {
	var list []example
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimRight(line, "\n")
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				list = append(list, example{command: command})
				continue
			}

			last := &list[len(list)-1]
			last.output = strings.TrimPrefix(last.output+"\n"+line, "\n")
		}
	}
	return list
}

// like turns a documented output, in which … stands for anything, into a pattern.
func like(output string) *regexp.Regexp {
	parts := strings.Split(output, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`)
}

func TestReadmeCommandsPrintWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl"} {
		_, err := exec.LookPath(tool)
		apptest.SkipWithout(t, err)
	}

	text := manual(t, "README.md")
	list := examples(text)
	if len(list) < 14 {
		t.Fatalf("the README has %d examples, want at least 14, one for each route", len(list))
	}

	dir := t.TempDir()
	base := strings.TrimPrefix(apptest.Launch(t, filepath.Join(dir, "data")).Base, "http://")
	for _, e := range list {
		command := strings.NewReplacer("localhost:8080", base, "/tmp/", dir+"/").Replace(e.command)
		cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimRight(string(out), "\n"); err != nil || !like(e.output).MatchString(got) {
			t.Errorf("%s\nprints %s %v\nwant   %s", e.command, got, err, e.output)
		}
	}
}
