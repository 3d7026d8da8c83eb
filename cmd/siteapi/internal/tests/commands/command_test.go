package commands

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// TestManualAndHelp checks that the operators' manual and the help have the same
// examples, which name existing commands and flags, and that every command and flag has a
// description.
func TestManualAndHelp(t *testing.T) {
	t.Parallel()
	inManual := map[string]bool{}
	for line := range strings.Lines(apptest.File(t, "cmd/siteapi/OPERATIONS.md")) {
		if strings.HasPrefix(line, "siteapi ") {
			line, _, _ = strings.Cut(line, "  #")
			inManual[strings.TrimSpace(line)] = true
		}
	}

	root, inHelp := app.NewCommand(func(string) string { return "" }, t.Output()), map[string]bool{}
	var explained func(c *cobra.Command)
	explained = func(c *cobra.Command) {
		if c.Short == "" || !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no description or no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			inHelp[strings.TrimSpace(line)] = true
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: the flag %s has no description", c.CommandPath(), f.Name)
			}
		})
		for _, below := range c.Commands() {
			explained(below)
		}
	}

	for _, c := range root.Commands() {
		explained(c)
	}
	for line := range inManual {
		if !inHelp[line] {
			t.Errorf("the help lacks an example of the manual: %s", line)
		}
	}

	for line := range inHelp {
		if !inManual[line] {
			t.Errorf("the manual lacks an example of the help: %s", line)
		}
		c, rest, err := root.Find(strings.Fields(strings.TrimPrefix(line, "siteapi ")))
		if err != nil || !c.HasParent() {
			t.Errorf("%s: there is no such command: %v", line, err)
			continue
		}
		for _, word := range rest {
			if name, isFlag := strings.CutPrefix(word, "--"); isFlag && c.Flag(name) == nil {
				t.Errorf("%s: there is no such flag", line)
			}
			if strings.ContainsAny(word, "|<>") {
				break
			}
		}
	}
}

// A mistyped command or flag is reported on standard error.
func TestMistypedCommands(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"leasd --since 7d":          "Did you mean this?\n\tleads",
		"leads lst --since 7d":      `unknown command "lst" for "siteapi leads"`,
		"leads list --snce 7d":      "--snce",
		"leads list --limit x":      "--limit",
		"serve leads":               `"leads"`,
		"leads list LR4LB5AK":       "expected no argument: see `siteapi leads list --help`",
		"deliveries retry":          "expected <ids> …",
		"deliveries retry --all 17": "expected <ids> …",
		"leads show":                "expected <id>",
	} {
		cmd := exec.CommandContext(t.Context(), apptest.Binary, strings.Fields(args)...)
		cmd.Env = []string{"ENVIRONMENT=development", "DATA_DIR=" + t.TempDir()}
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		_ = cmd.Run()

		if code := cmd.ProcessState.ExitCode(); code != 1 || out.Len() != 0 ||
			strings.Count(errOut.String(), "siteapi: ") != 1 || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %s on standard error:\n%s", args, code, out.String(), want, errOut.String())
		}
	}
}

// A command fails if its output can't be written.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	_ = r.Close()

	c := app.NewCommand(
		func(name string) string { return map[string]string{"ENVIRONMENT": "development"}[name] }, w)

	c.SetArgs([]string{"config"})
	if err := c.ExecuteContext(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	c.SetArgs([]string{"ready", "--server", "http://127.0.0.1:1"})
	if code := command.ExitCode(c.ExecuteContext(t.Context())); code != 2 {
		t.Errorf("a service that does not answer: exit code %d", code)
	}
}

// A command needs only the settings that it uses.
func TestCommandsNeedFewSettings(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	s.Arrives(s.Submit("lead"))

	// These are production settings without the required tokens.
	s.Env = []string{
		"DATA_DIR=" + s.Dir,
		"CONTENT_TTL=nonsense",
		"DELIVERY_RETRY_MAX=nonsense",
	}

	s.Prints("leads list", "lead@example.com")
	s.Prints("funnel", "VISITED    0")
	s.Prints("backup --output "+filepath.Join(t.TempDir(), "b"), "1 leads")
	s.Prints("deliveries verify", "leads                      1")
	s.Prints("leads erase --email unknown@example.com", "remains  ")
	s.Prints("crm setup", "needs no preparation")
	s.Prints("cms setup", "needs no webhook")
	s.Prints("version", "siteapi version", "go1.")
	s.Prints("ready --server "+s.Base, `"ok"`)
	s.Prints("leads list --help", "list leads, newest first", "Examples:", "--since")

	if out, code := apptest.Command(t, []string{"DATA_DIR=" + t.TempDir()}, "leads", "list"); code != 1 ||
		!strings.Contains(out, "set DATA_DIR to the folder of the service") {
		t.Errorf("without a database: %d %s", code, out)
	}
}

// Shells complete commands, flags and the values of flags, without a service or settings.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"completion", "bash"}, "__complete"},
		{[]string{"__complete", "leads", "er"}, "erase\t"},
		{[]string{"__complete", "deliveries", "list", "--st"}, "--state\t"},
		{[]string{"__complete", "deliveries", "list", "--state", "re"}, "retrying\n"},
	} {
		if out, code := apptest.Command(t, nil, tt.args...); code != 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%q: %d %s", tt.args, code, out)
		}
	}
}

// The printed schema contains everything that a client can query, without the REST
// directives.
func TestSDL(t *testing.T) {
	t.Parallel()
	out, code := apptest.Command(t, nil, "sdl")
	_, err := gqlparser.LoadSchema(&ast.Source{Name: "printed", Input: out})
	if err != nil || code != 0 || strings.Contains(out, "@rest") || !strings.Contains(out, "submitQuote(") {
		t.Errorf("%d %v: %s", code, err, out)
	}
}

func TestCRMSetup(t *testing.T) {
	t.Parallel()
	for lacked, want := range map[string]string{
		"none":        "quote_pdf_url: created",
		"crm.schemas": "the token lacks a scope: MISSING_SCOPES",
	} {
		stubs := apptest.NewVendors(t)
		stubs.CRM.Restrict(hubspottest.Options{Lacks: []string{lacked}})
		out, code := apptest.Command(t, stubs.Env(), "crm", "setup")
		if (code == 0) != (lacked == "none") || !strings.Contains(out, want) {
			t.Errorf("%d %s, want %s", code, out, want)
		}
	}
}
