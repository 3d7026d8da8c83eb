package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/quote"
)

// Formats of an export.
const (
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
)

// exportLeads is `siteapi leads export`. It holds one page of leads in memory at a time.
func (o operator) exportLeads(ctx context.Context, c *cli.Command, d *database) error {
	if err := only(c, 0); err != nil {
		return err
	}
	f, err := leadFilter(c, time.Now())
	if err != nil {
		return err
	}
	format := strings.ToLower(c.String("format"))
	if format != formatCSV && format != formatNDJSON {
		return fmt.Errorf("--format %s: must be one of %s, %s", format, formatCSV, formatNDJSON)
	}
	if c.Bool("bom") && format != formatCSV {
		return errors.New("--bom: only CSV may begin with a byte order mark")
	}
	n := 0
	write := func(w io.Writer) error {
		var leads leadWriter = newNDJSON(w)
		if format == formatCSV {
			leads = newCSV(w, c.Bool("bom"))
		}
		for s, err := range d.archive.Submissions(ctx, f) {
			if err != nil {
				return err
			}
			if err := leads.write(&s); err != nil {
				return err
			}
			n++
		}
		return leads.close()
	}
	path := c.String("output")
	if path == "" {
		return write(o.out)
	}
	if err := writeWhole(path, c.Bool("overwrite"), write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.out, "%d leads written to %s\n", n, path)
	return err
}

// writeWhole writes a file that only its owner may read, and that appears under its
// name whole and on the disk, or not at all.
func writeWhole(path string, overwrite bool, write func(w io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil && !overwrite {
		return fmt.Errorf("--output: %s is there already: name another file, or say --overwrite", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

// leadWriter writes leads one by one.
type leadWriter interface {
	write(s *quote.Submission) error
	close() error
}

// ndjson writes a JSON object a line.
type ndjson struct {
	out *bufio.Writer
	enc *json.Encoder
}

func newNDJSON(w io.Writer) *ndjson {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &ndjson{out, enc}
}

func (j *ndjson) write(s *quote.Submission) error { return j.enc.Encode(newLeadView(*s)) }

func (j *ndjson) close() error { return j.out.Flush() }

// csvFile writes leads as RFC 4180 has it: commas, CRLF, UTF-8.
type csvFile struct {
	out   *csv.Writer
	begun error
}

// csvColumns are the names in the first line.
func csvColumns() []string {
	return []string{
		"submitted_at", "submission_id", "first_name", "last_name", "email", "phone", "company", "locale",
		"project_type", "features", "complexity", "timeline", "estimate_min", "estimate_max", "currency",
		"session_id", "pdf", "held", "signals",
	}
}

func newCSV(w io.Writer, bom bool) *csvFile {
	f := &csvFile{}
	if bom {
		_, f.begun = io.WriteString(w, "\ufeff")
	}
	f.out = csv.NewWriter(w)
	f.out.UseCRLF = true
	f.begun = errors.Join(f.begun, f.out.Write(csvColumns()))
	return f
}

func (f *csvFile) write(s *quote.Submission) error {
	if f.begun != nil {
		return f.begun
	}
	amount := func(a float64) string { return strconv.FormatFloat(a, 'f', -1, 64) }
	c, sel := s.Contact, s.Selections
	return f.out.Write([]string{
		s.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z"), s.ID, inert(c.FirstName), inert(c.LastName), inert(c.Email),
		inert(c.Phone), inert(c.Company), s.Locale, inert(sel.ProjectType), inert(strings.Join(sel.Features, ";")),
		inert(sel.Complexity), inert(sel.Timeline), amount(s.Estimate.Min), amount(s.Estimate.Max), s.Estimate.Currency,
		inert(s.SessionID), s.PDFPath(), strconv.FormatBool(s.InReview), strings.Join(signalNames(s.Signals), ";"),
	})
}

func (f *csvFile) close() error {
	f.out.Flush()
	return errors.Join(f.begun, f.out.Error())
}

// inert writes ' before whatever a spreadsheet could take for the beginning of a
// formula: at the beginning of a cell, and after what separates cells where a
// spreadsheet is set to another separator than the comma. White space and quotes in
// between don't help a formula through.
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

// formulaStarts begin a formula in some spreadsheet; the last four are wide forms, which
// East Asian versions take as well.
const formulaStarts = "=+-@\uff1d\uff0b\uff0d\uff20"
