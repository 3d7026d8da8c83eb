package commands

import (
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// object is a JSON object under construction.
type object = map[string]any

// said is a command line with the texts that its output must have, in this order, and those
// that it must not have, separated by " | ".
type said struct{ args, want, not string }

// says checks commands that succeed.
func says(s *apptest.Site, list ...said) {
	s.T.Helper()
	texts := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, " | ")
	}
	for _, a := range list {
		s.Prints(apptest.Output{Args: a.args, Want: texts(a.want), Not: texts(a.not)})
	}
}
