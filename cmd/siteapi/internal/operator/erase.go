package operator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/schema"
)

// erase is `siteapi leads erase`.
func (d Deps) erase() *cli.Command {
	return &cli.Command{
		Name: "erase", Usage: "erase everything that is known of an e-mail address, everywhere",
		Description: "Erases the address from the CMS, the CRM, the database and the cache, with its deliveries and with sessions that\n" +
			"hold it only because it was typed, and prints a receipt. Without --yes it only says what it finds.\n" +
			"If something can't be reached the exit code is 1: run the command again, it continues where it stopped.\n\n" +
			"   siteapi leads erase --email ana@example.com --yes --receipt receipt.json\n" +
			"   siteapi leads erase --email - --yes < address.txt    (keeps the address out of the shell's history)",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "email", Usage: "the address, in any letter case; -: the first line of standard input"},
			&cli.BoolFlag{Name: "yes", Usage: "erase: without it nothing is changed"},
			&cli.StringFlag{Name: "receipt", Usage: "also write the receipt to this file, as JSON"},
			serverFlag(), jsonFlag(),
		},
		Action: d.action(append(upstreamSettings(), "LISTEN_ADDR", "CACHE_URL", "CACHE_PREFIX"), d.eraseLeads),
	}
}

// receipt is what an erasure prints.
type receipt struct {
	*schema.ErasureReceipt
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"`
}

func (d Deps) eraseLeads(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	email, err := addressFlag(c)
	if err != nil {
		return err
	}
	server, err := serverAddress(c, s)
	if err != nil {
		return err
	}
	idle := d.databaseIdle(s) // before this process has the database open itself
	db, documents, contacts, err := d.openAll(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rules := db.rules()
	rules.CMS, rules.CRM = documents, contacts
	rules.ClearPDFs = func(ctx context.Context, ids []string) (int, error) {
		if s.CacheURL.Scheme == "memory" {
			return clearMemory(ctx, server, s.CacheTokens, ids, idle)
		}
		return d.clearShared(ctx, s, ids)
	}
	rules.Truncate = func(ctx context.Context) error {
		if s.DatabaseURL != nil {
			return nil
		}
		return d.SQLite.Truncate(ctx, databasePath(s))
	}
	r := receipt{StartedAt: time.Now().UTC().Truncate(time.Second)}
	if r.ErasureReceipt, err = rules.Erase(ctx, email, !c.Bool("yes")); err != nil {
		return err
	}
	r.FinishedAt = time.Now().UTC().Truncate(time.Second)
	return errors.Join(r.print(c), r.outcome())
}

// openAll opens the database, the CMS and the CRM.
func (d Deps) openAll(ctx context.Context, s *config.Settings) (*Database, CMS, CRM, error) {
	documents, err := d.OpenCMS(s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("opening the CMS: %w", err)
	}
	contacts, err := d.OpenCRM(s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("opening the CRM: %w", err)
	}
	db, err := d.openExisting(ctx, s)
	return db, documents, contacts, err
}

// addressFlag reads --email. Errors don't repeat it: even a malformed address may be personal.
func addressFlag(c *cli.Command) (string, error) {
	value := c.String("email")
	if value == "-" {
		line, err := bufio.NewReader(c.Root().Reader).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("--email: reading standard input: %w", err)
		}
		value = line
	}
	email := crm.Address(value)
	if !crm.Addressable(email) || strings.ContainsAny(email, " \t,;") {
		return "", errors.New("--email: must be one e-mail address")
	}
	return email, nil
}

// databaseIdle reports whether no other process has the SQLite database open. With PostgreSQL it is not known.
func (d Deps) databaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil {
		return false
	}
	lock, err := d.SQLite.Lock(s)
	return err == nil && lock.Close() == nil
}

// outcome is nil if everything was erased, or if there was nothing to erase.
func (r receipt) outcome() error {
	found, failed := false, false
	for _, p := range r.Places {
		found = found || p.Found != nil && *p.Found > 0
		failed = failed || p.State == "failed"
	}
	switch {
	case failed && r.DryRun:
		return errors.New("not every place could be searched")
	case failed:
		return errors.New("not everything could be erased: run the command again when what failed can be reached")
	case found && r.DryRun:
		return finding("nothing was erased: add --yes to erase it")
	}
	return nil
}

// print prints the receipt, and writes it to the file that --receipt names.
func (r receipt) print(c *cli.Command) error {
	var err error
	if path := c.String("receipt"); path != "" {
		err = writeFile(path, true, func(f *os.File) error { return printJSON(f, r) })
	}
	out := c.Root().Writer
	if c.Bool("json") {
		return errors.Join(err, printJSON(out, r))
	}
	t := newTable(out, "PLACE", "WHAT", "FOUND", "ERASED", "STATE", "DETAIL")
	for _, p := range r.Places {
		found := "?"
		if p.Found != nil {
			found = fmt.Sprint(*p.Found)
		}
		t.AppendRow([]any{p.Place, p.Unit, found, p.Erased, p.State, orEmpty(p.Detail)})
	}
	t.Render()
	if r.Complete {
		_, _ = fmt.Fprintln(out, "complete: nothing is left in these places")
	}
	_, _ = fmt.Fprintf(out, "out of reach:\n  %s\n", strings.Join(r.Remains, "\n  "))
	return err
}
