package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

type exportLeads struct {
	leadFilter
	format string
	output output
}

func (cmd *exportLeads) flags(f *pflag.FlagSet) {
	cmd.leadFilter.flags(f)
	enumVar(f, &cmd.format, "format", "the `format`, csv unless it is given", []string{"csv", "ndjson"})
	cmd.output.flags(f, "`file` to write, readable by you only; left out: standard output")
}

func (cmd *exportLeads) run(ctx context.Context, c *call) error {
	person, err := cmd.person(ctx, c)
	if err != nil {
		return err
	}

	return cmd.output.write(c, func(w io.Writer) (string, error) {
		if err := cmd.recordExport(ctx, c, person); err != nil {
			return "", err
		}

		write, writePerson := cmd.writers(ctx, c, w)
		n, f := 0, store.Filter{Limit: 500} // leads that are held in memory at a time
		for more := true; more; {
			var page []lead.Lead
			var err error
			if page, more, err = cmd.leads(ctx, c, f); err != nil {
				return "", err
			}

			if err := write(page); err != nil {
				return "", err
			}
			if n += len(page); more {
				last := page[len(page)-1]
				f.After = &store.Position{SubmittedAt: last.SubmittedAt, ID: last.ID}
			}
		}
		if person == nil {
			return fmt.Sprintf("%d leads", n), nil
		}
		return fmt.Sprintf("%d leads, %d consents whose lead is deleted, %d sessions",
			n, len(person.Consents), len(person.Sessions)), writePerson(*person)
	})
}

// person returns what is stored about the address of --email apart from leads. It is nil if
// there is no address, or if other flags narrow the export.
func (cmd *exportLeads) person(ctx context.Context, c *call) (*leads.Person, error) {
	if cmd.leadFilter != (leadFilter{email: cmd.email}) || cmd.email == "" {
		return nil, nil //nolint:nilnil // an export of leads alone
	}
	p, err := leads.FindPerson(ctx, c.db.Tables, crm.Address(cmd.email))
	return &p, err
}

// recordExport stores that leads are exported, before the first one is written: what reads the
// output may end it early.
func (cmd *exportLeads) recordExport(ctx context.Context, c *call, person *leads.Person) error {
	var f store.Filter
	cmd.narrow(&f)
	counts, err := c.rules.Count(ctx, f, cmd.state)
	if err != nil {
		return err
	}

	detail := operators.FilterDetail(f, cmd.state, store.NumberOf(counts))
	if person != nil {
		detail["consents"], detail["sessions"] = len(person.Consents), len(person.Sessions)
	}
	return c.record(ctx, c.entry(schema.AuditActionExported, "", detail))
}

// writers return what writes leads, and what is stored about a person, in the format.
func (cmd *exportLeads) writers(
	ctx context.Context, c *call, w io.Writer,
) (writeLeads func([]lead.Lead) error, writePerson func(leads.Person) error) {
	if cmd.format != "ndjson" {
		table := leads.NewTable(w, true)
		return table.Leads, table.Person
	}

	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	type leadRecord struct {
		Record string `json:"record"`
		*schema.Lead
		Price *lead.Price `json:"price,omitempty"` // how the range was computed
	}
	writeLeads = func(page []lead.Lead) error {
		shown, err := c.shown(ctx, page)
		for i, l := range shown {
			err = errors.Join(err, encoder.Encode(leadRecord{leads.RecordLead, l, page[i].Price}))
		}
		return err
	}
	writePerson = func(p leads.Person) (err error) {
		for _, record := range p.Records() {
			err = errors.Join(err, encoder.Encode(record))
		}
		return err
	}
	return writeLeads, writePerson
}
