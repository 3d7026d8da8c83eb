package commands

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
	schemaexec "siteapi/schema/exec"
)

// Every command says what it is for and how it is called.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()

	n := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		n++
		name := c.CommandPath()

		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its summary is %q", name, c.Short)
		}
		if !strings.Contains(c.Example, name) || !strings.HasPrefix(c.Example, "  ") {
			t.Errorf("%s has no example of its own:\n%s", name, c.Example)
		}

		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: the flag %s is not explained", name, f.Name)
			}
		})

		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" { // the library's own
				visit(sub)
			}
		}
	}

	visit(app.NewCommand(func(string) string { return "" }, t.Output()))
	if n < 25 {
		t.Errorf("only %d commands were found", n)
	}

	s := apptest.NewSite(t)
	says(s, said{"--help", "completion  | leads", ""},
		said{"leads list --help", "list leads, newest first | Examples: | --since", ""},
		said{"--version", "siteapi | go1.", ""},
		said{"version", "siteapi version | go1.", ""},
	)
}

// TestManualAndHelp checks that the operators' manual and the help have the same examples,
// which name existing commands and flags.
func TestManualAndHelp(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	inManual := map[string]bool{}
	for line := range strings.Lines(string(manual)) {
		if strings.HasPrefix(line, "siteapi ") {
			line, _, _ = strings.Cut(line, "  #")
			inManual[strings.TrimSpace(line)] = true
		}
	}

	root := app.NewCommand(func(string) string { return "" }, t.Output())
	inHelp := map[string]bool{}
	for _, c := range root.Commands() {
		for line := range strings.Lines(c.Example) {
			inHelp[strings.TrimSpace(line)] = true
		}
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

// A mistyped word is refused once, on standard error, with the word that was meant.
func TestMistypedCommands(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"lead list":                 `Did you mean "leads"?`,
		"leads lst":                 `Did you mean "list"?`,
		"leasd --since 7d":          `Did you mean "leads"?`,
		"leads lst --since 7d":      `Did you mean "list"?`,
		"leads list --snce 7d":      `Did you mean "--since"?`,
		"deliveries verify --fxi":   `Did you mean "--fix"?`,
		"leads list --limit x":      "limit",
		"serve leads":               `"leads" is one argument too many`,
		"nonsense":                  `no command "nonsense"`,
		"deliveries retry --target": "target",
	} {
		cmd := exec.CommandContext(t.Context(), apptest.Binary, strings.Fields(args)...)
		cmd.Env = []string{"ENVIRONMENT=development", "DATA_DIR=" + t.TempDir()}
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		_ = cmd.Run()

		if code := cmd.ProcessState.ExitCode(); code != 1 || out.Len() != 0 ||
			strings.Count(errOut.String(), "siteapi: ") != 1 ||
			strings.Count(errOut.String(), "\n") != 1 ||
			!strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %s on standard error:\n%s",
				args, code, out.String(), want, errOut.String())
		}
	}
}

// A command whose output can't be written has failed.
func TestOutputIsLost(t *testing.T) {
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
	found := c.ExecuteContext(t.Context())
	if code, lost := command.ExitCode(found),
		command.ExitCode(errors.Join(found, io.ErrClosedPipe)); code != 2 || lost != 1 {
		t.Errorf("exit codes %d and, with the output lost, %d for %v", code, lost, found)
	}
}

// A command needs the settings it uses, and no others.
func TestCommandsNeedFewSettings(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	s.Arrives(s.Submit("lead"))

	// The settings are those of production, without its tokens.
	s.Env = []string{
		"DATA_DIR=" + s.Dir,
		"CONTENT_TTL=nonsense",
		"DELIVERY_RETRY_MAX=nonsense",
	}

	says(s, said{"leads list", "lead@example.com", ""},
		said{"deliveries list", "no deliveries", ""},
		said{"funnel", "visited    0", ""},
		said{"backup -o " + filepath.Join(t.TempDir(), "b"), "1 leads", ""},
		said{"deliveries verify", "leads                      1", ""},
		said{"leads erase --email unknown@example.com", "remains.0", ""},
		said{"crm setup", "needs no preparation", ""},
		said{"cms setup", "needs no webhook", ""},
	)

	if out, code := s.Run("doctor"); code != 2 || !strings.Contains(out, "CONTENT_TTL: must be") {
		t.Errorf("the doctor uses all: %d %s", code, out)
	}
	if out, code := apptest.Command(t, []string{"DATA_DIR=" + t.TempDir()}, "leads", "list"); code != 1 ||
		!strings.Contains(out, "set DATA_DIR to the folder of the service") {
		t.Errorf("without a database: %d %s", code, out)
	}
}

// Only on a terminal do the lines of a table fit its width, and do states have colours.
func TestTablesOnATerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script is not installed")
	}

	s := apptest.NewSite(t)
	s.Keep(nil, apptest.Odd())

	terminal := func(command string) string {
		cmd := exec.CommandContext(t.Context(),
			"script", "-qec", "stty cols 60; exec "+apptest.Binary+" "+command, "/dev/null")
		cmd.Env = append(s.Env, "TERM=xterm", "PATH="+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader("")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}

	plain := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "", "\r", "")
	out := terminal("leads list")
	for line := range strings.Lines(plain.Replace(out)) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 60 {
			t.Errorf("%q is wider than the terminal", line)
		}
	}

	if !strings.Contains(out, "\x1b[1m") || !strings.Contains(out, "ODD1ODD2") {
		t.Errorf("on a terminal it says %q", out)
	}
	if out := terminal("doctor"); !strings.Contains(out, "\x1b[32mok") {
		t.Errorf("on a terminal the doctor says %q", out)
	}

	says(s, said{"leads list", "odd@example.com", "\x1b"})
}

// bash completes commands, their commands and their flags, without a service or settings.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, code := apptest.Command(t, nil, "completion", shell); code != 0 ||
			!strings.Contains(out, "__complete") {
			t.Errorf("%s: %d %s", shell, code, out)
		}
	}

	for line, want := range map[string]string{
		"siteapi le":                   "leads",
		"siteapi leads er":             "erase",
		"siteapi deliveries list --st": "--state",
		"siteapi do":                   "doctor",
	} {
		// The script sets the words and the index of the last one, and calls the
		// completion function, as readline does.
		script := `PATH="$(dirname "$0"):$PATH"
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur="${words[cword]}"; }
compopt() { :; }
source <(siteapi completion bash)
COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_siteapi
echo "${COMPREPLY[@]}"`

		cmd := exec.CommandContext(t.Context(), "bash", "-c", script, apptest.Binary, line)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "DATA_DIR=/nowhere"}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s<TAB>: %v %q, want %q", line, err, got, want)
		}
	}
}

// The printed schema has everything a client can ask for, and nothing of the REST routes.
func TestSDL(t *testing.T) {
	t.Parallel()
	out, code := apptest.Command(t, nil, "sdl")
	printed, err := gqlparser.LoadSchema(&ast.Source{Name: "printed", Input: out})
	if err != nil || code != 0 {
		t.Fatal(code, err)
	}

	for name, def := range schemaexec.AST().Types {
		_, found := printed.Types[name]
		if hidden := slices.Contains([]string{"RestMethod", "RestAnswer", "ToolAudience"}, name); found == hidden {
			t.Errorf("%s: printed %v", name, found)
		}
		for _, f := range def.Fields {
			if found && printed.Types[name].Fields.ForName(f.Name) == nil {
				t.Errorf("%s.%s is not printed", name, f.Name)
			}
		}
	}

	if strings.Contains(out, "@rest") {
		t.Error("@rest is printed")
	}
}

func TestCRMSetup(t *testing.T) {
	t.Parallel()
	setup := func(stubs *apptest.Vendors, env ...string) (string, int) {
		return apptest.Command(t, append(stubs.Environ(), env...), "crm", "setup")
	}

	stubs := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.CRM.Fail(
		faulttest.Answer(503).On("POST /properties/contacts/groups").Times(0),
		faulttest.Answer(503),
	)
	if out, code := setup(stubs); code != 1 || !strings.Contains(out, "run the command again") {
		t.Errorf("away in the middle: %d %s", code, out)
	}

	stubs.Recover()
	if out, code := setup(stubs); code != 0 || !strings.Contains(out, "quote_pdf_url: created") {
		t.Errorf("once more: %d %s", code, out)
	}
	if out, code := setup(stubs); code != 0 || strings.Count(out, ": exists already") != 33 {
		t.Errorf("again: %d %s", code, out)
	}

	if out, code := setup(stubs, "CRM_DRIVER=file"); code != 0 ||
		!strings.Contains(out, "needs no preparation") {
		t.Errorf("of files: %d %s", code, out)
	}

	unable := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{NoSchemas: true})
	if out, code := setup(unable); code != 1 || !strings.Contains(out, "crm.schemas.contacts.write") {
		t.Errorf("a token without the right: %d %s", code, out)
	}
}
