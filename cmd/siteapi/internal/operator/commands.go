package operator

import "github.com/spf13/cobra"

// Commands returns all commands of this package.
func Commands(d Drivers) []*cobra.Command {
	return []*cobra.Command{
		d.leadsCommands(),
		d.deliveriesCommands(),
		d.auditCommands(),
		d.sessionsCommands(),
		d.funnelCommand(),

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
		d.sdlCommand(),
	}
}
