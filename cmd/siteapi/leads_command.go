package main

import (
	"io"

	"github.com/urfave/cli/v3"
)

// leadsCommand is for whoever looks after the leads of a service.
func leadsCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "leads", Usage: "look after stored leads", Action: group,
		Commands: []*cli.Command{leadsRelease(o)},
	}
}
