package command

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// Commands returns all commands of this package: those of the operation documents, and those
// that are written by hand.
func Commands(d Drivers) []*cobra.Command {
	commands := d.documentCommands()
	commands["leads"] = append(commands["leads"], d.leadsCommands()...)
	commands["deliveries"] = append(commands["deliveries"], d.verifyCommand())

	list := []*cobra.Command{
		d.doctorCommand(),
		d.configCommand(),
		d.readyCommand(),

		d.backupCommand(),
		d.restoreCommand(),
		d.migrateCommand(),

		d.edgeCommands(),
		d.storeCommands(),
		d.priceCommand(),
		d.cmsCommands(),
		d.crmCommands(),
		d.mailCommands(),
		d.mcpCommand(),
		d.sdlCommand(),
	}
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if summary := summaries()[name]; summary != "" {
			list = append(list, group(name, summary, commands[name]...))
		} else {
			list = append(list, commands[name]...)
		}
	}
	return list
}

// summaries say what the groups of commands are for.
func summaries() map[string]string {
	return map[string]string{
		"audit":      "what operators did with leads",
		"content":    "content of the site, as the CMS has it",
		"deliveries": "show, retry and verify deliveries to the CMS, the CRM and the webhook",
		"leads":      "list, show, export, decide about and erase leads, and withdraw consents",
		"logins":     "list and end logins of operators who signed in with their account",
	}
}
