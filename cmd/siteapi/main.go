// Command siteapi is the backend of a multilingual marketing site. It serves content of a
// headless CMS, runs a quote calculator that delivers its leads to the CMS and the CRM,
// receives the webhook of the CMS, and manages the cache. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/command"
)

func main() {
	stopping := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP},
		signal.Ignored) // nohup
	ctx, stop := signal.NotifyContext(context.Background(), stopping...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	if err := app.NewCommand(os.Getenv, os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "siteapi:", err)
		os.Exit(command.ExitCode(err))
	}
}
