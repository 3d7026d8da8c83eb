package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/integrations/store/sqlite"
)

// leadsErase is `siteapi leads erase`.
func leadsErase(o operator) *cli.Command {
	return &cli.Command{
		Name: "erase", Usage: "erase everything that is known of an e-mail address, everywhere",
		Description: "Erases the address from the CMS, the CRM, the cache and the database, with its deliveries and with sessions\n" +
			"that hold it only because it was typed, and prints a receipt. Without --yes it only says what it finds.\n" +
			"If something can't be reached the exit code is 1: repeat the command, it goes on where it ended.\n\n" +
			"   siteapi leads erase --email ana@example.com\n" +
			"   siteapi leads erase --email ana@example.com --yes --receipt receipt.json\n" +
			"   siteapi leads erase --email - --yes < address.txt    (keeps the address out of the shell's history)",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "email", Usage: "the address, letter case ignored; -: the first line of standard input"},
			&cli.BoolFlag{Name: "yes", Usage: "erase: without it nothing is changed"},
			&cli.StringFlag{Name: "server", Usage: "address of the running service, if its cache is in memory; left out: that of LISTEN_ADDR on this machine"},
			&cli.StringFlag{Name: "receipt", Usage: "file to write the receipt to as JSON as well"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace the file of the receipt if it is there"},
			&cli.BoolFlag{Name: "json", Usage: "print the receipt for other programs"},
		},
		Action: o.command(o.eraseLeads),
	}
}

func (o operator) eraseLeads(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) (err error) {
	if err := only(c, 0); err != nil {
		return err
	}
	email, err := addressFlag(c)
	if err != nil {
		return err
	}
	pdfs, err := newPDFCache(s, log, c.String("server"))
	if err != nil {
		return err
	}
	d, err := openExisting(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	documents, err := openCMS(s, log, nil)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	contacts, err := openCRM(s, log, nil, func() {})
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	inCMS, ok := documents.(erasableCMS)
	if !ok {
		return fmt.Errorf("CMS_DRIVER=%s cannot look up and erase what it has stored", s.CMSDriver)
	}
	inCRM, ok := contacts.(erasableCRM)
	if !ok {
		return fmt.Errorf("CRM_DRIVER=%s cannot look up and erase what it has stored", s.CRMDriver)
	}
	e := &erasure{
		email: email, cms: inCMS, crm: inCRM, pdfs: pdfs, data: d,
		tryTime: tryTime, pause: tryPause, say: func(text string) { _, _ = fmt.Fprintln(c.Root().ErrWriter, text) },
		shrink: func(ctx context.Context) error {
			if s.DatabaseURL != nil {
				return nil
			}
			return sqlite.Truncate(ctx, filepath.Join(s.DataDir, databaseFile))
		},
		receipt: receipt{Email: email, StartedAt: time.Now().UTC().Truncate(time.Second), Erasing: c.Bool("yes"), Remains: remains(s)},
	}
	err = e.run(ctx)
	e.receipt.FinishedAt = time.Now().UTC().Truncate(time.Second)
	verdict := e.receipt.verdict()
	return errors.Join(o.handOut(c, &e.receipt), err, verdict)
}

// addressFlag reads --email.
func addressFlag(c *cli.Command) (string, error) {
	text := c.String("email")
	if text == "-" {
		line, err := bufio.NewReader(c.Root().Reader).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("--email: reading standard input: %w", err)
		}
		text = line
	}
	email := crm.Address(text)
	if !crm.Addressable(email) || strings.ContainsAny(email, " \t,;") {
		return "", errors.New("--email: must be one e-mail address") // not repeated: it may be personal still
	}
	return email, nil
}

// handOut prints the receipt and writes it to the file that was asked for.
func (o operator) handOut(c *cli.Command, r *receipt) error {
	var errs []error
	if path := c.String("receipt"); path != "" {
		errs = append(errs, writeWhole(path, c.Bool("overwrite"), func(w io.Writer) error {
			return operator{out: w}.printJSON(r)
		}))
	}
	if c.Bool("json") {
		return errors.Join(append(errs, o.printJSON(r))...)
	}
	return errors.Join(append(errs, r.print(o.out))...)
}

// remains says what no command can reach.
func remains(s *config.Settings) []string {
	list := []string{
		"backups made before this keep it until they are removed; after a restore, erase again",
		"copies that people have made: exports, downloaded PDFs, e-mails",
	}
	if kept, err := filepath.Glob(filepath.Join(s.DataDir, asideMark+"*")); err == nil && len(kept) > 0 {
		list = append(list, fmt.Sprintf("%d folders %s… in DATA_DIR, which hold what restores have replaced", len(kept), asideMark))
	}
	if s.CMSDriver == "sanity" {
		list = append(list, "the CMS keeps the history of documents for as long as its plan says")
	}
	if s.DatabaseURL != nil {
		list = append(list, "PostgreSQL writes over removed rows in its own time: VACUUM does it now; archived WAL counts as a backup")
	}
	if s.CacheURL.Scheme == "memory" && s.DatabaseURL != nil {
		list = append(list, "other instances with their cache in memory may hand a PDF out for up to an hour, until they are restarted")
	}
	return list
}

// lockDir is where the processes that work on a SQLite database leave their signs of life.
func lockDir(s *config.Settings) string { return filepath.Join(s.DataDir, "run") }

// exists reports whether a file or folder is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
