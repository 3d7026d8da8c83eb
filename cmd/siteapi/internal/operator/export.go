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
	"regexp"
	"strings"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// exportPage is how many leads an export holds in memory at a time.
const exportPage = 500

// exportLeads is `siteapi leads export`.
func exportLeads(ctx context.Context, c *call) error {
	f, state, err := c.leadFilter()
	if err != nil {
		return err
	}
	format := strings.ToLower(c.text("format"))
	if format != "csv" && format != "ndjson" {
		return fmt.Errorf("--format %s: must be csv or ndjson", format)
	}
	n := 0
	export := func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		encoder := json.NewEncoder(buffered)
		encoder.SetEscapeHTML(false)
		write := func(l *schema.Lead) error { return encoder.Encode(l) }
		if format == "csv" {
			write = csvWriter(buffered)
		}
		f.Limit = exportPage
		for more := true; more; {
			var page []*schema.Lead
			if page, more, err = c.rules.Leads(ctx, f, state); err != nil {
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
	path := c.text("output")
	if path == "" {
		return export(c.out)
	}
	if err := writeFile(path, c.on("overwrite"), func(f *os.File) error { return export(f) }); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	c.say("%d leads written to %s", n, path)
	return nil
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

// formula finds what a spreadsheet could take for the beginning of a formula: at the beginning of a cell, and after what
// separates cells where another separator than the comma is set. East Asian versions take the wide forms as well.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// inert writes ' before each of those.
func inert(cell string) string { return formula.ReplaceAllString(cell, "$1$2'$3") }
