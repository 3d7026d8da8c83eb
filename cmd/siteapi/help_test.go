package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// Every command says what it is for and how it is called.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	root := newCommand(func(string) string { return "" }, t.Output())
	n := 0
	var visit func(c *cli.Command, name string)
	visit = func(c *cli.Command, name string) {
		n++
		if c.Usage == "" || strings.HasSuffix(c.Usage, ".") {
			t.Errorf("%s: its usage is %q", name, c.Usage)
		}
		if !strings.Contains(c.Description, name) || !strings.HasPrefix(c.Description, "   ") && !strings.Contains(c.Description, "\n   ") {
			t.Errorf("%s has no example of its own:\n%s", name, c.Description)
		}
		for _, f := range c.Flags {
			if d, ok := f.(cli.DocGenerationFlag); !ok || d.GetUsage() == "" {
				t.Errorf("%s: the flag %v is not explained", name, f.Names())
			}
		}
		out, code := command(t, nil, append(strings.Fields(name)[1:], "--help")...)
		if code != 0 || !strings.Contains(out, c.Usage) || c.Description != "" && !strings.Contains(out, "DESCRIPTION:") {
			t.Errorf("%s --help: %d %s", name, code, out)
		}
		for _, sub := range c.Commands {
			visit(sub, name+" "+sub.Name)
		}
	}
	visit(root, "siteapi")
	if n < 25 {
		t.Errorf("only %d commands were found", n)
	}
}

// bash completes commands, their commands and their flags, without a service and
// without settings.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "pwsh"} {
		if out, code := command(t, nil, "completion", shell); code != 0 || !strings.Contains(out, "generate-shell-completion") {
			t.Errorf("%s: %d %s", shell, code, out)
		}
	}
	if out, code := command(t, nil, "--help"); code != 0 || !strings.Contains(out, "completion ") {
		t.Errorf("nobody is told of it: %d %s", code, out)
	}
	for line, want := range map[string]string{
		"siteapi le": "leads", "siteapi leads er": "erase", "siteapi deliveries list --st": "--state", "siteapi do": "doctor",
	} {
		// What readline does: words, the index of the last one, and the function it was told.
		script := `PATH="$(dirname "$0"):$PATH"; _get_comp_words_by_ref() { cur="${COMP_WORDS[COMP_CWORD]}"; }
source <(siteapi completion bash)
COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__siteapi_bash_autocomplete siteapi
echo "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script, binary, line)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "DATA_DIR=/nowhere"}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s<TAB>: %v %q, want %q", line, err, got, want)
		}
	}
}
