package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"siteapi/integrations/cache"
	"siteapi/integrations/crm"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

type eraseLeads struct {
	email, receipt string
	yes            bool
	server         server
	result         result
}

func (cmd *eraseLeads) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.email, "email", "the `address`, in any spelling; -: the first line of standard input")
	textVar(f, &cmd.receipt, "receipt", "also write the receipt to this `file`, as JSON")
	f.BoolVar(&cmd.yes, "yes", false, "erase: without it nothing is changed, and it only says what it finds")
	cmd.server.flags(f)
	cmd.result.flags(f)
}

func (cmd *eraseLeads) run(ctx context.Context, c *call) error {
	email, err := cmd.address(c)
	if err != nil {
		return err
	}

	if err := c.openAll(ctx); err != nil {
		return err
	}
	if err := c.sameSystems(ctx); err != nil {
		return err
	}

	c.rules.ClearPDFs = func(ctx context.Context, pattern cache.Pattern) (int, error) {
		if c.settings.CacheURL.Scheme == "memory" {
			return cmd.clearMemory(ctx, c, pattern)
		}

		shared, err := c.drivers.OpenCache(ctx, c.settings)
		if err != nil {
			return 0, err
		}

		n, err := shared.Clear(ctx, pattern)
		return n, errors.Join(err, shared.Close())
	}

	var receipt struct {
		*schema.ErasureReceipt
		FinishedAt time.Time `json:"finishedAt"`
	}

	var erased *leads.Receipt
	erase := func(w io.Writer) (err error) {
		entry := c.entry(schema.AuditActionErased, "", nil)
		if erased, err = c.rules.Erase(ctx, email, !cmd.yes, c.db.Tables, entry); err != nil {
			return err
		}

		receipt.ErasureReceipt = operators.NewReceipt(erased)
		receipt.FinishedAt = time.Now().UTC().Truncate(time.Second)
		return printJSON(w, receipt)
	}

	if path := cmd.receipt; path != "" {
		err = writeFile(path, true, erase) // nothing is erased unless the file can be created
	} else {
		err = erase(io.Discard)
	}

	if erased == nil {
		return err
	}

	return errors.Join(err, cmd.result.print(c, receipt, func() { printErasure(c, erased) }), outcome(erased))
}

// address returns the value of --email. Errors don't repeat it: even a malformed address
// may be personal.
func (cmd *eraseLeads) address(c *call) (string, error) {
	email := cmd.email
	if email == "-" {
		line, err := bufio.NewReader(c.in).ReadString('\n')
		if email = line; err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("--email: must be one e-mail address on standard input: %w", err)
		}
	}

	// Whatever a visitor may submit can be erased.
	if email = crm.Address(schema.TrimEmail(email)); !schema.NewFormats().Email(email) {
		return "", errors.New("--email: must be one e-mail address")
	}

	return email, nil
}

func printErasure(c *call, r *leads.Receipt) {
	header := table.Row{"PLACE", "WHAT", "FOUND", "ERASED", "STATE", "DETAIL"}
	printTable(c, "places", r.Places, header, func(p *leads.Place) table.Row {
		found := "?"
		if p.Found != nil {
			found = strconv.Itoa(*p.Found)
		}

		return table.Row{p.Name, p.Unit, found, p.Erased, p.State, p.Detail}
	})

	if r.Complete {
		c.say("complete: nothing is left in these places")
	}
	c.say("out of reach:\n  %s", strings.Join(r.Remains, "\n  "))
}

// outcome returns nil if everything was erased, or if there was nothing to erase.
func outcome(r *leads.Receipt) error {
	switch {
	case r.Has(leads.PlaceFailed):
		return errors.New("not every place could be searched and erased: " +
			"run the command again when what failed can be reached")
	case r.Has(leads.PlaceFound):
		return finding("nothing was erased: add --yes to erase it")
	}
	return nil
}

// clearMemory clears PDFs from the memory of the running service. If the database is
// idle, no service is running, and there are none.
func (cmd *eraseLeads) clearMemory(
	ctx context.Context, c *call, pattern cache.Pattern,
) (int, error) {
	const advice = "PDFs stay in the memory of a running service for an hour: " +
		"add --server, or restart the service"

	service := cmd.server.base(c)
	address := service + "/api/cache/clear?" + url.Values{"pattern": {string(pattern)}}.Encode()
	resp, err := ask(ctx, http.MethodPost, address, first(c.settings.CacheTokens))

	if _, dialing := errors.AsType[*net.OpError](err); dialing && c.idle {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the service at %s does not answer: %w (%s)", service, err, advice)
	}

	var answer struct{ Cleared *int }
	if json.Unmarshal(resp.Body(), &answer) != nil || answer.Cleared == nil {
		return 0, fmt.Errorf("the service at %s answers %s to CACHE_API_TOKEN (%s)",
			service, resp.Status(), advice)
	}

	return *answer.Cleared, nil
}
