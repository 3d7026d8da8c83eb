package operator

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
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// receipt is what an erasure prints.
type receipt struct {
	*schema.ErasureReceipt
	FinishedAt time.Time `json:"finishedAt"`
}

func eraseLeads(ctx context.Context, c *call) error {
	email, err := c.address()
	if err != nil {
		return err
	}
	idle := c.databaseIdle(c.settings) // before this process has the database open itself
	if err := c.openAll(ctx); err != nil {
		return err
	}
	c.rules.ClearPDFs = func(ctx context.Context, ids []string) (int, error) {
		if c.settings.CacheURL.Scheme == "memory" {
			return clearMemory(ctx, c.server(), c.settings.CacheTokens, ids, idle)
		}
		shared, err := c.OpenCache(ctx, c.settings)
		if err != nil {
			return 0, err
		}
		n, err := leads.ClearPDFs(ctx, shared, ids)
		return n, errors.Join(err, shared.Close())
	}
	erased, err := c.rules.Erase(ctx, email, !c.on("yes"))
	if err != nil {
		return err
	}
	r := receipt{erased, time.Now().UTC().Truncate(time.Second)}
	if path := c.text("receipt"); path != "" {
		err = writeFile(path, true, func(f *os.File) error { return printJSON(f, r) })
	}
	if c.on("json") {
		err = errors.Join(err, printJSON(c.out, r))
	} else {
		r.print(c)
	}
	return errors.Join(err, r.outcome())
}

// address reads --email. Errors don't repeat it: even a malformed address may be personal.
func (c *call) address() (string, error) {
	email := c.text("email")
	if email == "-" {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("--email: reading standard input: %w", err)
		}
		email = line
	}
	if email = crm.Address(email); !crm.Addressable(email) || strings.ContainsAny(email, " \t,;") {
		return "", errors.New("--email: must be one e-mail address")
	}
	return email, nil
}

func (r receipt) print(c *call) {
	header := table.Row{"PLACE", "WHAT", "FOUND", "ERASED", "STATE", "DETAIL"}
	printTable(c.out, header, r.Places, func(p *schema.ErasurePlace) table.Row {
		found := "?"
		if p.Found != nil {
			found = fmt.Sprint(*p.Found)
		}
		return table.Row{p.Place, p.Unit, found, p.Erased, p.State, orEmpty(p.Detail)}
	})
	if r.Complete {
		c.say("complete: nothing is left in these places")
	}
	c.say("out of reach:\n  %s", strings.Join(r.Remains, "\n  "))
}

// outcome is nil if everything was erased, or if there was nothing to erase.
func (r receipt) outcome() error {
	failed := slices.ContainsFunc(r.Places, func(p *schema.ErasurePlace) bool { return p.State == "failed" })
	switch {
	case failed && r.DryRun:
		return errors.New("not every place could be searched")
	case failed:
		return errors.New("not everything could be erased: run the command again when what failed can be reached")
	case slices.ContainsFunc(r.Places, func(p *schema.ErasurePlace) bool { return p.State == "found" }):
		return finding("nothing was erased: add --yes to erase it")
	}
	return nil
}

// clearMemory clears PDFs from the memory of the running service. If none is running, idle, there are no PDFs.
func clearMemory(ctx context.Context, server string, tokens, ids []string, idle bool) (int, error) {
	const advice = "PDFs stay in the memory of a running service for an hour: add --server, or restart the service"
	address := server + "/api/cache/clear?" + url.Values{"pattern": {leads.PDFPattern(ids)}}.Encode()
	resp, err := ask(ctx, http.MethodPost, address, append(tokens, "")[0])
	if _, dialing := errors.AsType[*net.OpError](err); dialing && idle {
		return 0, nil
	}
	var answer struct{ Cleared *int }
	switch {
	case err != nil:
		return 0, fmt.Errorf("the service at %s does not answer: %w (%s)", server, err, advice)
	case resp.StatusCode() != http.StatusOK, json.Unmarshal(resp.Body(), &answer) != nil, answer.Cleared == nil:
		return 0, fmt.Errorf("the service at %s answers %s to CACHE_API_TOKEN (%s)", server, resp.Status(), advice)
	}
	return *answer.Cleared, nil
}

// databaseIdle reports whether no other process has the SQLite database open. With PostgreSQL it is not known.
func (d Deps) databaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil {
		return false
	}
	lock, err := d.LockSQLite(s)
	return err == nil && lock.Close() == nil
}
