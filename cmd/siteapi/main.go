// Command siteapi is the backend of a multilingual marketing site: site settings from
// a headless CMS, a quote calculator whose leads reach CMS and CRM, the CMS webhook
// and the management of the cache. See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"siteapi/cmd/siteapi/internal/operator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand(os.Getenv, os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "siteapi:", err)
		os.Exit(operator.ExitCode(err))
	}
}
