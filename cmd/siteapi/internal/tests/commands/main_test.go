package commands

import (
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// object is a JSON object under construction.
type object = map[string]any

// output is a command line with the strings that its output must contain, in this order,
// and those that it must not contain, separated by " | ".
type output struct{ args, want, not string }

// prints checks the output of commands that succeed.
func prints(s *apptest.Site, list ...output) {
	s.T.Helper()
	texts := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, " | ")
	}
	for _, a := range list {
		s.Prints(a.args, texts(a.want)...).Without(texts(a.not)...)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
