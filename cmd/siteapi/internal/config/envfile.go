package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DefaultEnvFile is read if it exists and no other file is given.
const DefaultEnvFile = "/etc/siteapi.env"

// LoadEnvFile adds the variables of a file to the environment, except those that are
// already set. The format is that of systemd and Docker: NAME=value, without expansion. A
// byte order mark, which editors on Windows add, is ignored.
// The default file may be missing or unreadable.
func LoadEnvFile(path string) error {
	data, err := os.ReadFile(path)
	if path == DefaultEnvFile && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}

	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	form := regexp.MustCompile(`^(?:export\s+)?([^\s=]+)\s*=\s*(?:"(.*)"|'(.*)'|(.*))$`)

	// Lines are read backward, so the last one with a name takes effect.
	for i, line := range slices.Backward(strings.Split(string(data), "\n")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}

		parts := form.FindStringSubmatch(line)
		if parts == nil {
			return fmt.Errorf("%s, line %d: must be NAME=value", path, i+1)
		}

		if _, set := os.LookupEnv(parts[1]); set {
			continue
		}
		if err := os.Setenv(parts[1], parts[2]+parts[3]+parts[4]); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
	}
	return nil
}

// Misspelled returns a warning for each variable of os.Environ that looks like a misspelled
// setting.
func Misspelled(environ []string) []string {
	var names, warnings []string
	for _, item := range Table() {
		names = append(names, item.Name)
	}

	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if len(name) < 6 || slices.Contains(names, name) {
			continue
		}

		distance := func(known string) int {
			if strings.HasPrefix(known, strings.ToUpper(name)+"_") {
				return 0 // an end is missing
			}
			return levenshtein.ComputeDistance(strings.ToUpper(name), known)
		}
		nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
		if distance(nearest) <= 2 {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting: did you mean %s?", name, nearest))
		}
	}

	return warnings
}
