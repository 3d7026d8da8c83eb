package manuals

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

func isSetting(name string) bool {
	return slices.ContainsFunc(config.Table(), func(s config.Setting) bool { return s.Name == name })
}

// goVersion returns the minor version of Go that go.mod names.
func goVersion(t *testing.T) string {
	t.Helper()
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
}

// TestDockerfile builds no image: it makes the checks that need no container engine.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	file := apptest.Packaged(t, "Dockerfile")
	text := strings.Join(file, "\n")
	last := strings.LastIndex(text, "\nFROM ")

	for _, want := range []string{
		"golang:" + goVersion(t) + "-alpine AS build",
		"CGO_ENABLED=0",
		"-trimpath -buildvcs=false",
		"-X siteapi/cmd/siteapi/internal/app.version=$VERSION",
	} {
		if !strings.Contains(text[:last], want) {
			t.Errorf("it is not built with %q", want)
		}
	}

	for _, want := range []string{
		"FROM scratch",
		"USER 65532:65532",
		"ENV DATA_DIR=/data",
		`ENTRYPOINT ["/siteapi"]`,
		`CMD ["/siteapi", "ready"]`,
		"ca-certificates.crt",
	} {
		if !strings.Contains(text[last:], want) {
			t.Errorf("the image lacks %q", want)
		}
	}

	ignored := apptest.Packaged(t, "../../../.dockerignore")
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

	for _, secret := range []string{".git", "data", "**/.env", "**/node_modules"} {
		if !slices.Contains(ignored, secret) {
			t.Errorf("%s is sent to the engine", secret)
		}
	}

	makefile, err := os.ReadFile("../../Makefile")
	if err != nil || !strings.Contains(string(makefile), "CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false") ||
		!strings.Contains(text, "go build -trimpath -buildvcs=false") {
		t.Errorf("`make build` has other flags than the image: %v", err)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var file struct {
		Services map[string]struct {
			Image       string
			Environment map[string]string
			ReadOnly    bool `yaml:"read_only"`
			Volumes     []string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck struct{ Test []string }
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"siteapi-1", "siteapi-2", "proxy", "postgres", "valkey"} {
		s, ok := file.Services[name]
		if !ok || s.Image == "" || strings.HasSuffix(s.Image, ":latest") {
			t.Fatalf("the service %s is not there, or of no certain version: %+v", name, s)
		}

		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join("deploy", from)); strings.HasPrefix(from, ".") && err != nil {
				t.Errorf("%s mounts %v", name, err)
			} else if _, ok := file.Volumes[from]; !strings.HasPrefix(from, ".") && !ok {
				t.Errorf("%s mounts %s, which is no volume", name, from)
			}
		}
	}

	given := composeEnvFile(t, string(data))
	variable := regexp.MustCompile(`\$\{([A-Z_]+):([-?])([^}]*)\}`)
	env := map[string]string{}
	for name, value := range file.Services["siteapi-1"].Environment {
		if !isSetting(name) {
			t.Errorf("there is no setting %s", name)
		}

		env[name] = variable.ReplaceAllStringFunc(value, func(text string) string {
			parts := variable.FindStringSubmatch(text)
			switch value := given[parts[1]]; {
			case value != "":
				return value
			case parts[2] == "?":
				t.Errorf("the first lines of the file don't give %s", parts[1])
			}
			return parts[3]
		})
	}

	for _, item := range config.Table() {
		ofTheImage := slices.Contains([]string{"LISTEN_ADDR", "DATA_DIR"}, item.Name)
		if _, ok := env[item.Name]; !ok && !ofTheImage {
			t.Errorf("%s does not reach the instances", item.Name)
		}
	}

	s, err := config.Read(func(name string) string { return env[name] })
	if err == nil && len(app.CheckServing(s, nil)) > 0 {
		err = app.CheckServing(s, nil)
	}
	if err != nil {
		t.Fatalf("the service would not start: %v", err)
	}

	if s.DatabaseURL == nil || s.CacheURL.Scheme != "valkey" || len(s.TrustedProxies) != 1 ||
		s.DrainDelay < 2*time.Second || !file.Services["siteapi-2"].ReadOnly ||
		file.Services["siteapi-2"].DependsOn["postgres"].Condition != "service_healthy" {
		t.Errorf("the instances are not what they should be: %+v", file.Services["siteapi-2"])
	}

	// That it goes on when an instance dies is tried with Caddy itself.
	if !strings.Contains(strings.Join(apptest.Packaged(t, "Caddyfile"), "\n"), "Strict-Transport-Security") {
		t.Error("the proxy does not insist on HTTPS")
	}
}

// composeEnvFile returns the variables that the first lines of the compose file write to .env.
func composeEnvFile(t *testing.T, file string) map[string]string {
	t.Helper()
	head, _, _ := strings.Cut(file, "#   docker ")
	script := strings.Join(regexp.MustCompile(`(?m)^#   (.*)$`).FindAllString(head, -1), "\n")

	run := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(script, "#   ", ""))
	run.Dir = t.TempDir()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", script, err, out)
	}
	lines, err := os.ReadFile(filepath.Join(run.Dir, ".env"))
	if err != nil {
		t.Fatal(err)
	}

	given := map[string]string{}
	for line := range strings.Lines(string(lines)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		given[name] = value
	}
	return given
}

func TestUnits(t *testing.T) {
	t.Parallel()
	unit, socket := apptest.Packaged(t, "siteapi.service"), apptest.Packaged(t, "siteapi.socket")

	for _, want := range []string{
		"Type=notify",
		"User=siteapi",
		"Requires=siteapi.socket",
		"NoNewPrivileges=yes",
		"ProtectSystem=strict",
		"CapabilityBoundingSet=",
		"StateDirectory=siteapi",
		"Environment=DATA_DIR=/var/lib/siteapi",
	} {
		if !slices.Contains(unit, want) {
			t.Errorf("the unit lacks %s", want)
		}
	}

	if !slices.Contains(socket, "ListenStream=8080") {
		t.Errorf("the socket listens nowhere: %v", socket)
	}

	for _, line := range unit {
		if name, ok := strings.CutPrefix(line, "Environment="); ok &&
			!isSetting(strings.SplitN(name, "=", 2)[0]) {
			t.Errorf("there is no setting %s", name)
		}
	}

	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("SITEAPI_TEST_SERVICES") == "required" {
			t.Fatalf("systemd-analyze is needed: %v", err)
		}
		return // systemd would check the rest
	}

	dir := t.TempDir()
	for _, name := range []string{"siteapi.service", "siteapi.socket"} {
		data, err := os.ReadFile(filepath.Join("deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		data = []byte(strings.Replace(string(data),
			"ExecStart=/usr/local/bin/siteapi", "ExecStart="+apptest.Binary, 1))
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
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

func TestReadyCommand(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir())
	address := "LISTEN_ADDR=" + strings.TrimPrefix(r.Base, "http://")

	if out, code := apptest.Command(t, []string{"ENVIRONMENT=development", address}, "ready"); code != 0 ||
		!strings.Contains(out, `"ok"`) {
		t.Errorf("%d %s", code, out)
	}
	if out, code := apptest.Command(t,
		[]string{"ENVIRONMENT=development", "LISTEN_ADDR=127.0.0.1:1"}, "ready"); code != 2 ||
		!strings.Contains(out, "does not answer") {
		t.Errorf("with no service there: %d %s", code, out)
	}

	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":"unavailable"}`))
	}))
	t.Cleanup(down.Close)
	out, code := apptest.Command(t, []string{
		"ENVIRONMENT=development",
		"LISTEN_ADDR=" + strings.TrimPrefix(down.URL, "http://"),
	}, "ready")
	if code != 2 || !strings.Contains(out, "unavailable") || !strings.Contains(out, "is not ready") {
		t.Errorf("with its database away: %d %s", code, out)
	}
}
