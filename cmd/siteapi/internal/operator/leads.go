package operator

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/crm"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// leads is `siteapi leads`. These are the only commands that print personal data.
func (d Deps) leads() *cli.Command {
	filters := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			&cli.StringFlag{
				Name: "search", Aliases: []string{"reference"},
				Usage: "only leads whose first name, last name, e-mail address or PDF reference begins with each of these words",
			},
			&cli.StringFlag{Name: "state", Usage: "only leads in this state: " + words(schema.AllLeadState)},
			sinceFlag("leads submitted"),
			untilFlag("leads submitted"),
			&cli.StringFlag{Name: "email", Usage: "only leads of this address, in any letter case"},
		}, more...)
	}
	return &cli.Command{
		Name: "leads", Usage: "list, show, export, release, reject and erase leads", Action: group,
		Description: "Leads are personal data: mind where the output goes. All commands work beside a running service.\n\n" +
			"   siteapi leads list --since 7d",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list leads, newest first",
				Description: "   siteapi leads list --search 'ana pop'\n   siteapi leads list --state in-review",
				Flags:       filters(jsonFlag(), limitFlag(50)),
				Action:      d.databaseAction(listLeads),
			},
			{
				Name: "show", Usage: "show a lead, or all of an address, with its deliveries", ArgsUsage: "<id, PDF reference or e-mail address>",
				Description: "   siteapi leads show LR4LB5AK\n   siteapi leads show ana@example.com",
				Flags:       []cli.Flag{jsonFlag()},
				Action:      d.databaseAction(showLeads),
			},
			{
				Name: "export", Usage: "write leads as CSV or NDJSON, oldest first",
				Description: "CSV cells that a spreadsheet could take for a formula begin with ', which spreadsheets don't show.\n" +
					"With --email it is what a person who asks for their data gets.\n\n" +
					"   siteapi leads export --since 30d --output leads.csv\n   siteapi leads export --format ndjson | jq .contact.email",
				Flags: append(filters(
					&cli.StringFlag{Name: "format", Usage: "csv or ndjson", Value: "csv"},
				), outputFlags("file to write, readable by you only; left out: standard output")...),
				Action: d.databaseAction(exportLeads),
			},
			{
				Name: "release", Usage: "deliver leads that are in review or were rejected", ArgsUsage: "<id or PDF reference> … | --all",
				Description: "   siteapi leads list --state in-review\n   siteapi leads release LR4LB5AK",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all that are in review"}},
				Action: d.databaseAction(func(ctx context.Context, c *cli.Command, db *Database) error {
					return decide(ctx, c, db, "released: the running service delivers them now", db.Archive.Release)
				}),
			},
			{
				Name: "reject", Usage: "reject leads that are in review: they are never delivered", ArgsUsage: "<id or PDF reference> … | --all",
				Description: "SUBMISSION_RETENTION forgets them. `siteapi leads release` undoes it.\n\n   siteapi leads reject LR4LB5AK",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all that are in review"}},
				Action: d.databaseAction(func(ctx context.Context, c *cli.Command, db *Database) error {
					return decide(ctx, c, db, "rejected", db.Archive.Reject)
				}),
			},
			d.erase(),
		},
	}
}

// rules are the rules of leads over a database.
func (db *Database) rules() *leads.Service {
	return &leads.Service{Archive: db.Archive, Deliveries: db.Queue}
}

// words lists the values of an enum as they are typed and printed: IN_REVIEW as in-review.
func words[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = word(v)
	}
	return strings.Join(list, ", ")
}

func word[T ~string](value T) string {
	return strings.ToLower(strings.ReplaceAll(string(value), "_", "-"))
}

// enumFlag reads a flag whose values are those of an enum. Left out it is empty.
func enumFlag[T ~string](c *cli.Command, name string, values []T) (T, error) {
	given := c.String(name)
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(word(v), given) })
	if i < 0 && given != "" {
		return "", fmt.Errorf("--%s %s: must be one of %s", name, given, words(values))
	}
	if given == "" {
		return "", nil
	}
	return values[i], nil
}

// filter reads the flags that narrow a listing of leads.
func filter(c *cli.Command) (f store.Filter, state schema.LeadState, err error) {
	f = store.Filter{Email: c.String("email"), Search: c.String("search")}
	if f.Since, f.Until, err = period(c); err != nil {
		return f, "", err
	}
	state, err = enumFlag(c, "state", schema.AllLeadState)
	return f, state, err
}

func listLeads(ctx context.Context, c *cli.Command, db *Database) error {
	f, state, err := filter(c)
	if err != nil {
		return err
	}
	f.Newest = true
	if f.Limit, err = limit(c); err != nil {
		return err
	}
	list, more, err := db.rules().Leads(ctx, f, state)
	out := c.Root().Writer
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(out, list)
	case len(list) == 0:
		_, err := fmt.Fprintln(out, "no leads")
		return err
	}
	t := newTable(out, "REFERENCE", "SUBMITTED", "STATE", "ESTIMATE", "NAME", "E-MAIL", "PROJECT", "LOCALE")
	for _, l := range list {
		t.AppendRow([]any{l.Reference, l.SubmittedAt.Format(time.DateTime), word(l.State), estimate(l),
			printable(l.Contact.FirstName + " " + l.Contact.LastName), printable(l.Contact.Email), l.Selections.ProjectType, orEmpty(l.Locale)})
	}
	t.Render()
	if more {
		_, err = fmt.Fprintf(out, "(the %d newest: --limit 0 lists all)\n", f.Limit)
	}
	return err
}

func estimate(l *schema.Lead) string {
	least, most := amount(l.Estimate.Min), amount(l.Estimate.Max)
	if least == most {
		return most + " " + l.Estimate.Currency
	}
	return least + "-" + most + " " + l.Estimate.Currency
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// orEmpty returns an optional text, empty where there is none.
func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// findLeads finds a lead by its id or its PDF's reference, or all of an e-mail address.
func findLeads(ctx context.Context, db *Database, name string) (found []*schema.Lead, err error) {
	rules := db.rules()
	if crm.Addressable(name) {
		if found, _, err = rules.Leads(ctx, store.Filter{Email: crm.Address(name)}, ""); err == nil {
			err = rules.AddDeliveries(ctx, found...)
		}
	} else {
		found = make([]*schema.Lead, 1)
		found[0], err = rules.Find(ctx, name)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && len(found) == 0 {
		return nil, errors.New("there is no such lead: `siteapi leads list` lists them") // the name may be an address
	}
	for _, l := range found {
		for _, delivery := range l.Deliveries {
			delivery.Lead = nil // it would be printed for ever
		}
	}
	return found, err
}

func showLeads(ctx context.Context, c *cli.Command, db *Database) error {
	if c.Args().Len() != 1 {
		return errors.New("name one lead: siteapi leads show <id, PDF reference or e-mail address>")
	}
	found, err := findLeads(ctx, db, c.Args().First())
	out := c.Root().Writer
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(out, found)
	}
	for _, l := range found {
		if err := printFields(out, l); err != nil {
			return err
		}
		if l.State == schema.LeadStateInReview {
			_, _ = fmt.Fprintf(out, "`siteapi leads release %s` delivers it, `siteapi leads reject %s` does not\n", l.Reference, l.Reference)
		}
		_, _ = fmt.Fprintln(out)
	}
	return nil
}

// decide releases or rejects the leads that are named, or all in review.
func decide(ctx context.Context, c *cli.Command, db *Database, done string, do func(ctx context.Context, id string) (bool, error)) error {
	if c.Bool("all") == c.Args().Present() {
		return errors.New("name leads, or say --all: `siteapi leads list --state in-review` lists them")
	}
	var list []*schema.Lead
	for _, name := range c.Args().Slice() {
		found, err := findLeads(ctx, db, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, found...)
	}
	if c.Bool("all") {
		var err error
		if list, _, err = db.rules().Leads(ctx, store.Filter{}, schema.LeadStateInReview); err != nil {
			return err
		}
	}
	n := 0
	for _, l := range list {
		switch ok, err := do(ctx, l.ID); {
		case err != nil:
			return fmt.Errorf("%s: %w", l.ID, err)
		case ok:
			n++
		default:
			_, _ = fmt.Fprintf(c.Root().Writer, "%s is not in review: it is %s\n", l.Reference, word(l.State))
		}
	}
	_, err := fmt.Fprintf(c.Root().Writer, "%d leads %s\n", n, done)
	return err
}

// exportPage is how many leads an export holds in memory at a time.
const exportPage = 500

// exportLeads is `siteapi leads export`.
func exportLeads(ctx context.Context, c *cli.Command, db *Database) error {
	f, state, err := filter(c)
	if err != nil {
		return err
	}
	format := strings.ToLower(c.String("format"))
	if format != "csv" && format != "ndjson" {
		return fmt.Errorf("--format %s: must be csv or ndjson", format)
	}
	n := 0
	export := func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		write := ndjsonWriter(buffered)
		if format == "csv" {
			write = csvWriter(buffered)
		}
		for more := true; more; {
			f.Limit = exportPage
			var page []*schema.Lead
			if page, more, err = db.rules().Leads(ctx, f, state); err != nil {
				return err
			}
			for _, l := range page {
				if err := write(l); err != nil {
					return err
				}
				f.After = &store.Position{SubmittedAt: l.SubmittedAt, ID: l.ID}
			}
			n += len(page)
		}
		return buffered.Flush()
	}
	path := c.String("output")
	if path == "" {
		return export(c.Root().Writer)
	}
	if err := writeFile(path, c.Bool("overwrite"), func(f *os.File) error { return export(f) }); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = fmt.Fprintf(c.Root().Writer, "%d leads written to %s\n", n, path)
	return err
}

// ndjsonWriter writes each lead as a line of JSON.
func ndjsonWriter(w io.Writer) func(*schema.Lead) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(l *schema.Lead) error { return enc.Encode(l) }
}

// csvWriter writes leads as RFC 4180 says: commas, CRLF, UTF-8.
func csvWriter(w io.Writer) func(*schema.Lead) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := func(cells ...string) error {
		for i, cell := range cells {
			cells[i] = inert(cell)
		}
		err := out.Write(cells)
		out.Flush()
		return errors.Join(err, out.Error())
	}
	_, begun := io.WriteString(w, "\ufeff") // without it Excel can't read letters such as ș
	header := row("submitted_at", "submission_id", "reference", "first_name", "last_name", "email", "phone", "company", "locale",
		"project_type", "features", "complexity", "timeline", "estimate_min", "estimate_max", "currency", "session_id", "pdf", "state", "signals")
	return func(l *schema.Lead) error {
		signals := make([]string, len(l.Signals))
		for i, s := range l.Signals {
			signals[i] = string(s)
		}
		return errors.Join(begun, header, row(l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z"), l.ID, l.Reference,
			l.Contact.FirstName, l.Contact.LastName, l.Contact.Email, orEmpty(l.Contact.Phone), orEmpty(l.Contact.Company), orEmpty(l.Locale),
			l.Selections.ProjectType, strings.Join(l.Selections.Features, ";"), orEmpty(l.Selections.Complexity), orEmpty(l.Selections.Timeline),
			amount(l.Estimate.Min), amount(l.Estimate.Max), l.Estimate.Currency, l.SessionID, l.PDFURL, word(l.State),
			strings.Join(signals, ";")))
	}
}

// formulaStarts begin a formula in a spreadsheet. The last four are wide forms, which East Asian versions take as well.
const formulaStarts = "=+-@\uff1d\uff0b\uff0d\uff20"

// inert writes ' before everything that a spreadsheet could take for the beginning of a formula: at the beginning
// of a cell, and after what separates cells where another separator than the comma is set.
func inert(cell string) string {
	if !strings.ContainsAny(cell, formulaStarts) {
		return cell
	}
	var b strings.Builder
	begins := true
	for _, r := range cell {
		switch {
		case begins && strings.ContainsRune(formulaStarts, r):
			b.WriteByte('\'')
			begins = false
		case strings.ContainsRune(",;|\t\r\n", r):
			begins = true
		case r != ' ' && r != '\u00a0' && r != '"':
			begins = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
