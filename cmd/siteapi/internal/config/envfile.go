package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DefaultEnvFile is read if it exists and no other file is named.
const DefaultEnvFile = "/etc/siteapi.env"

// LoadEnvFile adds the variables in a file to the environment, except for those that are
// set already. The file has the form that systemd and docker read: NAME=value, without
// any expansion. The default file may be missing, or readable for root only.
func LoadEnvFile(path string) error {
	data, err := os.ReadFile(path)
	if path == DefaultEnvFile && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("%s, line %d: is not NAME=value", path, n)
		}
		value = strings.TrimSpace(value)
		if last := len(value) - 1; last > 0 && (value[0] == '"' || value[0] == '\'') && value[last] == value[0] {
			value = value[1:last]
		}
		if _, set := os.LookupEnv(name); !set {
			if err := os.Setenv(name, value); err != nil {
				return fmt.Errorf("%s, line %d: %w", path, n, err)
			}
		}
	}
	return lines.Err()
}

// Misspelt returns a warning for each variable of an environment (as os.Environ returns
// it) that is not a setting but is spelt almost like one.
func Misspelt(environ []string) []string {
	var names, warnings []string
	for _, item := range Table() {
		names = append(names, item.Name)
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if len(name) < 6 || slices.Contains(names, name) {
			continue
		}
		distance := func(known string) int { return levenshtein.ComputeDistance(strings.ToUpper(name), known) }
		nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
		if distance(nearest) <= 2 {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting: did you mean %s?", name, nearest))
		}
	}
	return warnings
}
