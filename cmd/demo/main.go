// Command demo starts the service on a fresh data folder and plays what happens on a
// site: a visitor in each language who uses the calculator, submits and fetches the
// PDF; an editor who changes the content; an operator who clears the cache. It prints
// what goes over the wire and, at the end, how many leads were stored and delivered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// patience is how long the demo waits for anything.
const patience = 30 * time.Second

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	out = &pieces{out: out}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	binary := flags.String("binary", "bin/siteapi", "the service to play against")
	folder := flags.String("dir", "", "folder for data and PDFs; left out: a new one below the temporary folder")
	drivers := flags.String("drivers", "file", "file: leads go to files; real: to local stand-ins of Sanity and HubSpot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir := *folder
	if dir == "" {
		if dir, err = os.MkdirTemp("", "siteapi-demo-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var far farEnd
	switch *drivers {
	case "file":
		far = &files{data: filepath.Join(dir, "data")}
	case "real":
		far, err = newStandIns(out)
	default:
		err = errors.New("-drivers must be file or real")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	service, err := startService(ctx, *binary, dir, far.settings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	if *drivers == "real" {
		if err := service.command(ctx, out, "crm", "setup"); err != nil {
			return err
		}
	}
	p := &play{wire: &wire{base: service.base, out: out}, out: out, dir: dir, far: far}
	return p.all(ctx)
}
