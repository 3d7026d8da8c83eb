package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// leadsCommands returns the commands about leads that are no operation documents.
func (d Drivers) leadsCommands() []*cobra.Command {
	return []*cobra.Command{
		d.command("erase", "erase everything that is stored about an e-mail address, everywhere",
			append(upstreamSettings(), "LISTEN_ADDR", "CACHE_URL", "CACHE_PREFIX"), &eraseLeads{},
			"siteapi leads erase --email ana@example.com",
			"siteapi leads erase --email ana@example.com --yes --receipt receipt.json",
			"siteapi leads erase --email - --yes < address.txt"),
	}
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// named returns the leads that are named by id, PDF reference or e-mail address.
func (c *call) named(ctx context.Context, names ...string) (list []lead.Lead, err error) {
	for _, name := range names {
		found := make([]lead.Lead, 1)
		if crm.Addressable(name) {
			found, _, err = c.rules.Leads(ctx, store.Filter{Email: crm.Address(name)}, "")
			name = "the address" // errors don't repeat it
		} else {
			found[0], err = c.rules.Find(ctx, name)
		}

		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && len(found) == 0:
			return nil, fmt.Errorf("%s: there is no such lead: `siteapi leads list` lists them", name)
		case err != nil:
			return nil, err
		}

		list = append(list, found...)
	}
	return list, nil
}
