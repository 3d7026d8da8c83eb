package workbook_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/workbook"
)

// written returns a workbook with a column of cells.
func written(t *testing.T, cells ...any) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := workbook.New(&file, "Lead-uri & <Ștefan>", []string{"Primit", `"Țară"`})
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range cells {
		if err := w.Write([]any{strconv.Itoa(i), cell}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A spreadsheet shows what was written: no text becomes a number, a date or a formula.
func TestCells(t *testing.T) {
	t.Parallel()
	bucharest, err := time.LoadLocation("Europe/Bucharest")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.In(bucharest)
	}
	emoji := strings.Repeat("👍🏽", 10_000) // four UTF-16 units each

	table := []struct {
		cell any
		want string
	}{
		{"0721000111", "0721000111"},
		{"+40721000111", "+40721000111"},
		{"00123456789012345678901", "00123456789012345678901"},
		{"1/2", "1/2"},
		{"2026-01-31", "2026-01-31"},
		{"1e5", "1e5"},
		{"TRUE", "TRUE"},
		{"=1+1", "=1+1"},
		{"'=1+1", "'=1+1"},
		{"@SUM(A1)", "@SUM(A1)"},
		{"-1", "-1"},
		{"Ștefan 👍🏽 «Órbita» 漢字", "Ștefan 👍🏽 «Órbita» 漢字"},
		{`<b>"Dacia" & 'Fiii'</b>`, `<b>"Dacia" & 'Fiii'</b>`},
		{"_x0041_ and _X0041_ and __x000a_", "_x0041_ and _X0041_ and __x000a_"},
		{"_x0041__x0042_", "_x0041__x0042_"},
		{"  blanks  ", "  blanks  "},
		{"one\ntwo\n\nthree", "one\ntwo\n\nthree"},
		{"a\tb", "a\tb"},
		{"a\rb", "a\rb"},
		{"null\x00, bell\x07, escape\x1b[31m", "null, bell, escape[31m"},
		{"not UTF-8 \xff, \uffff", "not UTF-8 \ufffd, "},
		{"", ""},
		{nil, ""},
		{strings.Repeat("a", 32_767), strings.Repeat("a", 32_767)},
		{strings.Repeat("a", 32_768), strings.Repeat("a", 32_761) + " […]"},
		{emoji, strings.Repeat("👍🏽", 8190) + " […]"},

		{0.0, "0.00"},
		{1234.5, "1,234.50"},
		{1e9, "1,000,000,000.00"},
		{-0.125, "-0.125"},
		{1142.811, "1,142.811"}, // dinars have three decimals, the unidad de fomento four
		{40_000.1234, "40,000.1234"},
		{0.1 + 0.2, "0.30"},

		{at("2026-03-29T00:59:59Z"), "2026-03-29 02:59"}, // the last second before the hour that is missing
		{at("2026-03-29T01:00:00Z"), "2026-03-29 04:00"},
		{at("2300-01-01T00:00:00Z"), "2300-01-01 02:00"},
		{at("9999-12-30T22:00:00Z"), "9999-12-31 00:00"},
		{at("2026-10-25T00:59:59Z"), "2026-10-25 03:59"},
		{at("2026-10-25T01:00:00Z"), "2026-10-25 03:00"}, // the hour that comes twice
		{at("2026-12-31T21:59:59.999Z"), "2026-12-31 23:59"},
		{at("2026-12-31T22:00:00Z"), "2027-01-01 00:00"},
		{at("2026-12-31T22:00:00Z").UTC(), "2026-12-31 22:00"},
		{workbook.Day(at("2026-12-31T22:00:00Z")), "2027-01-01"},
		{workbook.Day(at("2028-02-29T00:00:00Z").UTC()), "2028-02-29"},
	}
	var cells []any
	for _, tt := range table {
		cells = append(cells, tt.cell)
	}
	for minute := range 24 * 60 { // the fraction of a day is not exact
		cells = append(cells, time.Date(2026, 1, 31, 0, minute, 0, 0, time.UTC))
	}

	rows := apptest.OpenWorkbook(t, written(t, cells...))
	if len(rows) != 1+len(cells) || !slices.Equal(rows[0], []string{"Primit", `"Țară"`}) {
		t.Fatalf("%d rows, the first is %q", len(rows), rows[0])
	}
	for i, row := range rows[1:] {
		want := ""
		if i < len(table) {
			want = table[i].want
		} else {
			want = cells[i].(time.Time).Format("2006-01-02 15:04")
		}
		if got := row[1]; row[0] != strconv.Itoa(i) || got != want {
			t.Errorf("row %s: %.40q is shown as %.40q (%d bytes), want %.40q (%d)", row[0], cells[i], got, len(got), want, len(want))
		}
	}

}

// An error of the file is returned at the latest when the workbook ends.
func TestError(t *testing.T) {
	t.Parallel()
	w, err := workbook.New(failing{}, "Leads", nil)
	if err == nil {
		err = w.Close()
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A long workbook takes no more memory than a short one.
func TestMemory(t *testing.T) { //nolint:paralleltest // other tests would take memory as well
	row := make([]any, 70)
	for i := range row {
		row[i] = "value & " + strconv.Itoa(i)
	}
	row[0], row[1] = time.Now(), 1234.5

	w, err := workbook.New(io.Discard, "Leads", nil)
	if err != nil {
		t.Fatal(err)
	}
	most, before := uint64(0), live()
	for i := range 100_000 {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
		if i%20_000 == 0 {
			most = max(most, live())
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most > before+4<<20 {
		t.Errorf("100,000 rows took %d bytes of memory, and %d before them", most, before)
	}
}

// live returns the bytes in use after a collection of garbage.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A spreadsheet would leave out further rows without a word.
func TestMaxRows(t *testing.T) {
	t.Parallel()
	w, err := workbook.New(io.Discard, "Leads", nil)
	for n := 1; n < workbook.MaxRows && err == nil; n++ { // after the headings
		err = w.Write(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w.Write(nil) == nil {
		t.Error("a row that no spreadsheet shows was written")
	}
}
