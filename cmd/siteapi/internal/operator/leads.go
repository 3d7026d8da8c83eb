package operator

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/crm"
	"siteapi/integrations/pdf"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// leads is `siteapi leads`. These are the only commands that print personal data.
func (d Deps) leads() *cli.Command {
	filters := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			sinceFlag("leads submitted"),
			untilFlag("leads submitted"),
			&cli.StringFlag{Name: "email", Usage: "only leads of this address, in any letter case"},
			&cli.StringFlag{Name: "reference", Usage: "only the lead whose PDF has this reference"},
			&cli.BoolFlag{Name: "in-review", Usage: "only leads that wait for a review"},
		}, more...)
	}
	return &cli.Command{
		Name: "leads", Usage: "list, show, export, release and erase leads", Action: group,
		Description: "Leads are personal data: mind where the output goes. All commands work beside a running service.\n\n" +
			"   siteapi leads list --since 7d",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list leads, newest first",
				Description: "   siteapi leads list --since 7d\n   siteapi leads list --in-review",
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
					"   siteapi leads export --since 30d --bom --output leads.csv\n   siteapi leads export --format ndjson | jq .contact.email",
				Flags: append(filters(
					&cli.StringFlag{Name: "format", Usage: "csv or ndjson", Value: "csv"},
					&cli.BoolFlag{Name: "bom", Usage: "begin CSV with a byte order mark, which Excel needs to read letters such as ș"},
				), outputFlags("file to write, readable by you only; left out: standard output")...),
				Action: d.databaseAction(exportLeads),
			},
			{
				Name: "release", Usage: "deliver leads that are in review", ArgsUsage: "<id or PDF reference> … | --all",
				Description: "   siteapi leads list --in-review\n   siteapi leads release LR4LB5AK",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all that are in review"}},
				Action:      d.databaseAction(releaseLeads),
			},
			d.erase(),
		},
	}
}

// lead is a submission as it is printed for other programs.
type lead struct {
	quote.Submission
	Reference  string           `json:"reference"`
	PDF        string           `json:"pdf"` // path on the service
	State      string           `json:"state,omitempty"`
	Deliveries []queue.Delivery `json:"deliveries,omitempty"`
}

func newLead(s quote.Submission) lead {
	s.Trace = "" // of a request, not of a person
	return lead{Submission: s, Reference: pdf.Reference(s.ID), PDF: s.PDFPath()}
}

func (l lead) name() string {
	return printable(strings.TrimSpace(l.Contact.FirstName + " " + l.Contact.LastName))
}

func (l lead) estimate() string {
	least, most := amount(l.Estimate.Min), amount(l.Estimate.Max)
	if least == most {
		return most + " " + l.Estimate.Currency
	}
	return least + "-" + most + " " + l.Estimate.Currency
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (l lead) signals() []string {
	names := make([]string, len(l.Signals))
	for i, s := range l.Signals {
		names[i] = string(s)
	}
	return names
}

// filter reads the flags that narrow a listing of leads.
func filter(c *cli.Command) (f store.Filter, err error) {
	f = store.Filter{Email: c.String("email"), Reference: c.String("reference"), InReview: c.Bool("in-review")}
	f.Since, f.Until, err = period(c)
	return f, err
}

func listLeads(ctx context.Context, c *cli.Command, db *Database) error {
	f, err := filter(c)
	if err != nil {
		return err
	}
	f.Newest = true
	most, err := limit(c)
	if err != nil {
		return err
	}
	states, err := undeliveredLeads(ctx, db.Queue)
	if err != nil {
		return err
	}
	leads, more := []lead{}, false
	for s, err := range db.Archive.Submissions(ctx, f) {
		if err != nil {
			return err
		}
		if more = most > 0 && len(leads) == most; more {
			break
		}
		l := newLead(s)
		if l.State = cmp.Or(states[s.ID], "delivered"); s.InReview {
			l.State = "in review"
		}
		leads = append(leads, l)
	}
	out := c.Root().Writer
	switch {
	case c.Bool("json"):
		return printJSON(out, leads)
	case len(leads) == 0:
		_, err := fmt.Fprintln(out, "no leads")
		return err
	}
	t := newTable(out, "REFERENCE", "SUBMITTED", "STATE", "ESTIMATE", "NAME", "E-MAIL", "PROJECT", "LOCALE")
	for _, l := range leads {
		t.AppendRow([]any{l.Reference, l.SubmittedAt.Format(time.DateTime), l.State, l.estimate(), l.name(), printable(l.Contact.Email),
			l.Selections.ProjectType, l.Locale})
	}
	t.Render()
	if more {
		_, err = fmt.Fprintf(out, "(the %d newest: --limit 0 lists all)\n", most)
	}
	return err
}

// undeliveredLeads returns the state of each submission that has not arrived everywhere.
func undeliveredLeads(ctx context.Context, q *queue.Queue) (map[string]string, error) {
	list, err := q.List(ctx, queue.Filter{States: undelivered()})
	if err != nil {
		return nil, err
	}
	states := make(map[string]string, len(list))
	for _, d := range list {
		if d.State == queue.Failed {
			states[d.SubmissionID] = "failed"
		} else if states[d.SubmissionID] == "" {
			states[d.SubmissionID] = "under way"
		}
	}
	return states, nil
}

// findLeads finds a submission by its id or its PDF's reference, or all of an e-mail address.
func findLeads(ctx context.Context, db *Database, name string) (found []quote.Submission, err error) {
	f := store.Filter{Reference: name}
	switch {
	case crm.Addressable(name):
		f = store.Filter{Email: crm.Address(name)}
	case len(name) < len("LR4LB5AK"):
		return nil, errors.New("name a lead by its id, its PDF's reference or its e-mail address")
	}
	for s, err := range db.Archive.Submissions(ctx, f) {
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, errors.New("there is no such lead: `siteapi leads list` lists them") // the name may be an address
	}
	return found, nil
}

func showLeads(ctx context.Context, c *cli.Command, db *Database) error {
	if c.Args().Len() != 1 {
		return errors.New("name one lead: siteapi leads show <id, PDF reference or e-mail address>")
	}
	found, err := findLeads(ctx, db, c.Args().First())
	if err != nil {
		return err
	}
	out, leads := c.Root().Writer, []lead{}
	for _, s := range found {
		list, err := db.Queue.List(ctx, queue.Filter{Submissions: []string{s.ID}})
		if err != nil {
			return err
		}
		l := newLead(s)
		l.Deliveries = list
		if !c.Bool("json") {
			printLead(out, l)
			printDeliveries(out, list)
		}
		leads = append(leads, l)
	}
	if c.Bool("json") {
		return printJSON(out, leads)
	}
	return nil
}

func printLead(out io.Writer, l lead) {
	review := ""
	if l.InReview {
		review = "`siteapi leads release " + l.Reference + "` delivers it, `siteapi leads erase` removes it"
	}
	printLines(out, "reference", l.Reference, "id", l.ID, "submitted", stamp(l.SubmittedAt, time.Now()), "in review", review,
		"signals", strings.Join(l.signals(), ", "), "name", l.name(), "e-mail", l.Contact.Email, "phone", l.Contact.Phone,
		"company", l.Contact.Company, "language", l.Locale, "project", l.Selections.ProjectType,
		"features", strings.Join(l.Selections.Features, ", "), "complexity", l.Selections.Complexity, "timeline", l.Selections.Timeline,
		"estimate", l.estimate(), "pdf", l.PDF)
}

func releaseLeads(ctx context.Context, c *cli.Command, db *Database) error {
	if c.Bool("all") == c.Args().Present() {
		return errors.New("name leads, or say --all: `siteapi leads list --in-review` lists them")
	}
	var leads []quote.Submission
	for _, name := range c.Args().Slice() {
		found, err := findLeads(ctx, db, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		leads = append(leads, found...)
	}
	if c.Bool("all") {
		for s, err := range db.Archive.Submissions(ctx, store.Filter{InReview: true}) {
			if err != nil {
				return err
			}
			leads = append(leads, s)
		}
	}
	released := 0
	for _, s := range leads {
		switch ok, err := db.Archive.Release(ctx, s.ID); {
		case err != nil:
			return fmt.Errorf("releasing %s: %w", s.ID, err)
		case ok:
			released++
		default:
			_, _ = fmt.Fprintf(c.Root().Writer, "%s is not in review: `siteapi deliveries show %s` says where it is\n", s.ID, s.ID)
		}
	}
	_, err := fmt.Fprintf(c.Root().Writer, "%d leads released: the running service delivers them now\n", released)
	return err
}

// exportLeads is `siteapi leads export`. It holds one page of leads in memory at a time.
func exportLeads(ctx context.Context, c *cli.Command, db *Database) error {
	f, err := filter(c)
	if err != nil {
		return err
	}
	format := strings.ToLower(c.String("format"))
	switch {
	case format != "csv" && format != "ndjson":
		return fmt.Errorf("--format %s: must be csv or ndjson", format)
	case c.Bool("bom") && format != "csv":
		return errors.New("--bom: only CSV may begin with a byte order mark")
	}
	n := 0
	export := func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		write := ndjsonWriter(buffered)
		if format == "csv" {
			write = csvWriter(buffered, c.Bool("bom"))
		}
		for s, err := range db.Archive.Submissions(ctx, f) {
			if err == nil {
				err = write(newLead(s))
			}
			if err != nil {
				return err
			}
			n++
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
func ndjsonWriter(w io.Writer) func(lead) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(l lead) error { return enc.Encode(l) }
}

// csvWriter writes leads as RFC 4180 says: commas, CRLF, UTF-8.
func csvWriter(w *bufio.Writer, bom bool) func(lead) error {
	if bom {
		_, _ = w.WriteString("\ufeff") // an error comes back with the next write
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := func(cells ...string) error {
		err := out.Write(cells)
		out.Flush()
		return errors.Join(err, out.Error())
	}
	header := row("submitted_at", "submission_id", "reference", "first_name", "last_name", "email", "phone", "company", "locale", "project_type",
		"features", "complexity", "timeline", "estimate_min", "estimate_max", "currency", "session_id", "pdf", "in_review", "signals")
	return func(l lead) error {
		contact, chosen := l.Contact, l.Selections
		return errors.Join(header, row(l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z"), l.ID, l.Reference, inert(contact.FirstName),
			inert(contact.LastName), inert(contact.Email), inert(contact.Phone), inert(contact.Company), l.Locale, inert(chosen.ProjectType),
			inert(strings.Join(chosen.Features, ";")), inert(chosen.Complexity), inert(chosen.Timeline), amount(l.Estimate.Min),
			amount(l.Estimate.Max), l.Estimate.Currency, inert(l.SessionID), l.PDF, strconv.FormatBool(l.InReview), strings.Join(l.signals(), ";")))
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
