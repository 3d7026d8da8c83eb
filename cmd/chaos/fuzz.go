package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// fuzzTarget is one native fuzz target of the source tree, and what came of it.
type fuzzTarget struct {
	folder, name string
	known, execs int
	found        int // inputs beyond those known before that reached code no other had
	took         time.Duration
	err          error
}

var (
	targetForm = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	knownForm  = regexp.MustCompile(`baseline coverage: \d+/(\d+) completed`)
	execsForm  = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)
)

// fuzz runs every fuzz target of the source tree for a while, one after the other, and
// prints a table. An input that breaks something is kept below the package's testdata.
func fuzz(ctx context.Context, args []string, out, notes io.Writer) error {
	flags := flag.NewFlagSet("chaos fuzz", flag.ContinueOnError)
	flags.SetOutput(notes)
	length := flags.Duration("time", time.Minute, "how long each target runs")
	parallel := flags.Int("parallel", 2, "workers of a target")
	only := flags.String("only", "", "targets whose name matches this regular expression")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	targets, err := findTargets(".")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "TARGET\tPACKAGE\tKNOWN\tEXECUTIONS\tNEW INPUTS\tTOOK\tRESULT")
	var errs []error
	ran := 0
	for _, t := range targets {
		if !wanted.MatchString(t.name) || ctx.Err() != nil {
			continue
		}
		ran++
		_, _ = fmt.Fprintf(notes, "%s in %s …\n", t.name, t.folder)
		t.run(ctx, *length, *parallel)
		verdict := "clean"
		if t.err != nil {
			verdict = "FAILED"
			errs = append(errs, fmt.Errorf("%s in %s: %w", t.name, t.folder, t.err))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%v\t%s\n", t.name, t.folder, t.known, t.execs, t.found, t.took.Round(time.Second), verdict)
	}
	if ran == 0 {
		errs = append(errs, errors.New("there is no such fuzz target: run this in the source tree"))
	}
	return errors.Join(append(errs, w.Flush(), ctx.Err())...)
}

// findTargets finds all fuzz targets below a folder.
func findTargets(root string) ([]*fuzzTarget, error) {
	var targets []*fuzzTarget
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && e.IsDir() && (e.Name() == "node_modules" || len(e.Name()) > 1 && e.Name()[0] == '.'):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range targetForm.FindAllSubmatch(source, -1) {
			targets = append(targets, &fuzzTarget{folder: "./" + filepath.ToSlash(filepath.Dir(path)), name: string(m[1])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for fuzz targets: %w", err)
	}
	return targets, nil
}

// run runs the target and notes what came of it.
func (t *fuzzTarget) run(ctx context.Context, length time.Duration, parallel int) {
	began := time.Now()
	var said bytes.Buffer
	// Minimising is bounded by tries: by time it may outlast the target itself.
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", length.String(),
		"-fuzzminimizetime", "100x", "-parallel", strconv.Itoa(parallel), t.folder)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout, cmd.Stderr = &said, &said
	if t.err = cmd.Run(); t.err != nil {
		t.err = fmt.Errorf("%w\n%s", t.err, bytes.TrimSpace(said.Bytes()))
	}
	t.took = time.Since(began)
	t.read(said.Bytes())
}

// read takes the numbers from what `go test` printed.
func (t *fuzzTarget) read(said []byte) {
	if m := knownForm.FindSubmatch(said); m != nil {
		t.known, _ = strconv.Atoi(string(m[1])) // digits by its form
	}
	if all := execsForm.FindAllSubmatch(said, -1); len(all) > 0 {
		last := all[len(all)-1]
		t.execs, _ = strconv.Atoi(string(last[1]))
		t.found, _ = strconv.Atoi(string(last[2]))
	}
	if t.execs == 0 && t.err == nil {
		t.err = errors.New("nothing was executed")
	}
}
