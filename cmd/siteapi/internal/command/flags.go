package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/atomicfile"
)

// serverFlag adds the flag for the address of a running service.
func serverFlag(f *pflag.FlagSet, address *string) {
	usage := "`address` of the running service; default: LISTEN_ADDR on this machine"
	f.Func("server", usage, func(given string) (err error) {
		*address, err = config.WebAddress(given)
		return err
	})
}

func outputFlags(f *pflag.FlagSet, usage string) {
	f.StringP("output", "o", "", usage)
	f.Bool("overwrite", false, "replace the file if it exists")
}

// write calls write with the file of --output or standard output, and prints a summary for
// a file. It fails before calling write if the file exists and must not be replaced, so
// write can record the export in the audit without recording one that was refused. Until
// the file is complete it is in the staging folder, or in its own if that is empty.
func (c *call) write(write func(io.Writer) (what string, err error)) error {
	path, what := c.flag("output"), ""
	if path == "" || path == "-" {
		_, err := write(c.out)
		return err
	}

	overwrite := c.flag("overwrite") == "true"
	err := writeFile(path, overwrite, func(w io.Writer) (err error) {
		what, err = write(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	c.printLine("%s: %s", path, what)
	return nil
}

// writeFile writes a file that only its owner may read. The file appears complete and
// synced, or not at all.
func writeFile(path string, overwrite bool, write func(io.Writer) error) error {
	if info, err := os.Lstat(path); err == nil && (!overwrite || info.IsDir()) {
		return fmt.Errorf("%s exists: choose another file, or add --overwrite", path)
	}
	return atomicfile.Write(path, write)
}

// confirmed asks a question, and reports whether the answer is y.
func (c *call) confirmed(question string) bool {
	c.line.PrintErr(question + " [y/N] ")
	answer, _ := bufio.NewReader(c.line.InOrStdin()).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// parseTime returns the time that is given, or for a duration the time before now, or after
// it if that is ahead. A day stays one: the time zone is not known yet.
func parseTime(given string, isAhead bool) (string, error) {
	if d, err := config.Duration(given); err == nil {
		if !isAhead {
			d = -d
		}
		return time.Now().Add(d).Format(time.RFC3339Nano), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if _, err := time.Parse(layout, given); err == nil {
			return given, nil
		}
	}
	return "", errors.New("must be a duration such as 36h or 30d, at most 36500d, " +
		"a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z")
}
