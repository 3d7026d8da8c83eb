package command

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
)

// textVar takes a text without the white space around it.
func textVar(f *pflag.FlagSet, value *string, name, usage string) {
	f.Func(name, usage, func(given string) error {
		if *value = strings.TrimSpace(given); *value == "" {
			return errors.New("must not be empty")
		}
		return nil
	})
}

func enumVar[T ~string](f *pflag.FlagSet, value *T, name, usage string, values []T) {
	f.Func(name, usage+": "+words(values), func(given string) (err error) {
		*value, err = parse(given, values)
		return err
	})
}

// server is the address of a running service.
type server struct{ address string }

func (s *server) flags(f *pflag.FlagSet) {
	usage := "`address` of the running service; left out: LISTEN_ADDR on this machine"
	f.Func("server", usage, func(given string) error {
		s.address = strings.TrimSuffix(given, "/")
		return config.WebAddress(given)
	})
}

// parseTime reads a time, or a duration before now.
func parseTime(given string) (time.Time, error) {
	if d, err := config.Duration(given); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, given); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("must be a duration such as 36h or 30d, 36500d at most, " +
		"a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z")
}

// words lists the values of an enum in the form in which they are typed and printed, such
// as in-review for IN_REVIEW.
func words[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = word(v)
	}
	return strings.Join(list, ", ")
}

func word[T ~string](value T) string {
	return strings.ToLower(strings.ReplaceAll(string(value), "_", "-"))
}

// parse returns the value of an enum that was typed, in the form of words or, like in-review
// as IN_REVIEW, in that of JSON.
func parse[T ~string](typed string, values []T) (T, error) {
	for _, v := range values {
		if word(v) == word(strings.TrimSpace(typed)) {
			return v, nil
		}
	}
	return "", errors.New("must be one of " + words(values))
}
