package manuals

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
)

// packaged returns the lines of a packaging file without its comments.
func packaged(t *testing.T, name string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(manual(t, filepath.Join("cmd/siteapi/deploy", name))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func isSetting(name string) bool {
	return slices.ContainsFunc(config.Table(), func(s config.Setting) bool { return s.Name == name })
}

// goVersion returns the minor version of Go in go.mod.
func goVersion(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(manual(t, "go.mod"))[1]
}

// The image is built with the Go version of go.mod, from files in the build context, and
// runs as an unprivileged user.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	file, ignored := packaged(t, "Dockerfile"), packaged(t, "../../../.dockerignore")
	text := strings.Join(file, "\n")
	for _, want := range []string{
		"golang:" + goVersion(t) + "-alpine AS build",
		"-X siteapi/cmd/siteapi/internal/app.version=$VERSION",
		"FROM scratch",
		"USER 65532:65532",
		"ENV DATA_DIR=/data",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}

	for _, line := range file {
		words := strings.Fields(line)
		if words[0] != "COPY" || strings.HasPrefix(words[1], "--from") {
			continue
		}
		for _, from := range words[1 : len(words)-1] {
			if _, err := os.Stat(filepath.Join("../..", from)); err != nil ||
				slices.Contains(ignored, strings.TrimSuffix(from, "/")) {
				t.Errorf("%s can't be copied: %v", from, err)
			}
		}
	}
	for _, secret := range []string{".git", "data", "**/.env"} {
		if !slices.Contains(ignored, secret) {
			t.Errorf("%s is in the build context", secret)
		}
	}
}

// The compose file passes every setting to its instances, which start with only the
// values that its first lines require.
func TestCompose(t *testing.T) {
	t.Parallel()
	data := []byte(manual(t, "cmd/siteapi/deploy/compose.yaml"))
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Logging     struct{ Options map[string]string }
		}
	}
	must(t, yaml.Unmarshal(data, &file))

	for name, service := range file.Services {
		if service.Logging.Options["max-size"] == "" || service.Logging.Options["max-file"] == "" {
			t.Errorf("the log of %s is not bounded", name)
		}
	}

	given := map[string]string{
		"CACHE_API_TOKEN":    "a",
		"CMS_WEBHOOK_SECRET": "b",
		"POSTGRES_PASSWORD":  "c",
		"CMS_DRIVER":         "sanity",
		"SANITY_PROJECT_ID":  "abc12345",
		"SANITY_TOKEN":       "d",
	}
	variable := regexp.MustCompile(`\$\{([A-Z_]+):[-?]([^}]*)\}`)
	env := map[string]string{}
	for name, value := range file.Services["siteapi-1"].Environment {
		if !isSetting(name) {
			t.Errorf("there is no setting %s", name)
		}
		env[name] = variable.ReplaceAllStringFunc(value, func(text string) string {
			parts := variable.FindStringSubmatch(text)
			return cmp.Or(given[parts[1]], parts[2])
		})
	}
	for _, item := range config.Table() {
		ofTheImage := item.Name == "LISTEN_ADDR" || item.Name == "DATA_DIR"
		if _, ok := env[item.Name]; !ok && !ofTheImage {
			t.Errorf("%s does not reach the instances", item.Name)
		}
	}

	s, err := config.Read(func(name string) string { return env[name] })
	must(t, err)
	if wrong := systems.CheckServing(s, nil); len(wrong) > 0 {
		t.Errorf("the service would not start: %v", wrong)
	}
}

// systemd accepts the units and rates the service as safe. The service unit sets only
// settings that exist.
func TestUnits(t *testing.T) {
	t.Parallel()
	for _, line := range packaged(t, "siteapi.service") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "Environment="), "=")
		if strings.HasPrefix(line, "Environment=") && !isSetting(name) {
			t.Errorf("there is no setting %s", name)
		}
	}

	tool, err := exec.LookPath("systemd-analyze")
	apptest.SkipWithout(t, err)
	dir := t.TempDir()
	for _, name := range []string{"siteapi.service", "siteapi.socket"} {
		text := strings.Replace(manual(t, filepath.Join("cmd/siteapi/deploy", name)),
			"ExecStart=/usr/local/bin/siteapi", "ExecStart="+apptest.Binary, 1)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	for _, args := range [][]string{
		{"verify", "--man=no", filepath.Join(dir, "siteapi.service"), filepath.Join(dir, "siteapi.socket")},
		// The threshold counts tenths: 2.0 of 10.
		{"security", "--offline=yes", "--threshold=20", filepath.Join(dir, "siteapi.service")},
	} {
		out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && strings.Contains(string(out), "siteapi") {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
