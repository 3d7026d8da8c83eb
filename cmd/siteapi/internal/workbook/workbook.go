// Package workbook writes workbooks for spreadsheets (Office Open XML, ECMA-376) as a stream.
// A workbook has one sheet, whose first row is bold and stays in view.
package workbook

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/flate"
)

// ContentType is the media type of a workbook.
const ContentType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// maxText is the longest text of a cell, in UTF-16 units. Excel repairs a file with a longer
// one by cutting it. cut ends a text that was cut.
const (
	maxText = 32767
	cut     = " […]"
)

// MaxRows is the number of rows of a sheet in Excel and LibreOffice, with the headings.
const MaxRows = 1 << 20

// Styles of cells, as indexes of cellXfs in the part of styles.
const (
	styleText = iota + 1
	styleTime
	styleDay
	styleNumber
	styleHeading
)

const (
	header = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	types  = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	kinds  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	main   = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	packed = "http://schemas.openxmlformats.org/package/2006/"
)

// parts are the files of a workbook before that of its sheet.
var parts = [][2]string{
	{"[Content_Types].xml", `<Types xmlns="` + packed + `content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="` + types + `sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + types + `worksheet+xml"/>
<Override PartName="/xl/styles.xml" ContentType="` + types + `styles+xml"/>
</Types>`},
	{"_rels/.rels", `<Relationships xmlns="` + packed + `relationships">
<Relationship Id="rId1" Type="` + kinds + `/officeDocument" Target="xl/workbook.xml"/>
</Relationships>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packed + `relationships">
<Relationship Id="rId1" Type="` + kinds + `/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="` + kinds + `/styles" Target="styles.xml"/>
</Relationships>`},
	{"xl/styles.xml", `<styleSheet xmlns="` + main + `">
<numFmts count="3">
<numFmt numFmtId="164" formatCode="yyyy\-mm\-dd\ hh:mm"/>
<numFmt numFmtId="165" formatCode="yyyy\-mm\-dd"/>
<numFmt numFmtId="166" formatCode="#,##0.00##"/>
</numFmts>
<fonts count="2">
<font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font>
</fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders>
<cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="6">
<xf xfId="0"/>
<xf xfId="0" numFmtId="49" applyNumberFormat="1"/>
<xf xfId="0" numFmtId="164" applyNumberFormat="1"/>
<xf xfId="0" numFmtId="165" applyNumberFormat="1"/>
<xf xfId="0" numFmtId="166" applyNumberFormat="1"/>
<xf xfId="0" fontId="1" applyFont="1"/>
</cellXfs>
</styleSheet>`},
}

const (
	sheetBegin = `<worksheet xmlns="` + main + `"><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>` +
		`<sheetFormatPr defaultColWidth="18" defaultRowHeight="15"/><sheetData>`
	sheetEnd = `</sheetData></worksheet>`
)

// Writer writes a workbook. Nothing but the current row stays in memory.
type Writer struct {
	file  *zip.Writer
	sheet *bufio.Writer
	rows  int // written so far
}

// New begins a workbook with the name and the headings of its sheet.
func New(w io.Writer, name string, headings []string) (*Writer, error) {
	file := zip.NewWriter(w)
	file.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})

	var book strings.Builder
	book.WriteString(`<workbook xmlns="` + main + `" xmlns:r="` + kinds + `"><sheets><sheet name="`)
	escape(&book, name)
	book.WriteString(`" sheetId="1" r:id="rId1"/></sheets></workbook>`)
	for _, part := range append(parts[:len(parts):len(parts)], [2]string{"xl/workbook.xml", book.String()}) {
		content, err := file.Create(part[0])
		if err == nil {
			_, err = io.WriteString(content, header+part[1])
		}
		if err != nil {
			return nil, err
		}
	}

	sheet, err := file.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return nil, err
	}
	b := &Writer{file: file, sheet: bufio.NewWriterSize(sheet, 64<<10), rows: 1}
	b.raw(header, sheetBegin, "<row>")
	for _, text := range headings {
		b.text(styleHeading, text)
	}
	b.raw("</row>\n")
	return b, nil
}

// Day is a cell with the day of a time.
type Day time.Time

// Write adds a row of texts, numbers, times and days. A time is shown as it is on the clocks of its
// time zone. nil is an empty cell. It fails if the sheet already has MaxRows.
func (b *Writer) Write(row []any) error {
	if b.rows++; b.rows > MaxRows {
		return fmt.Errorf("a workbook has at most %d rows: export fewer leads, or CSV", MaxRows)
	}

	b.raw("<row>")
	for _, cell := range row {
		switch v := cell.(type) {
		case nil:
			b.raw("<c/>")
		case string:
			b.text(styleText, v)
		case float64:
			b.number(styleNumber, v)
		case time.Time:
			b.number(styleTime, serial(v))
		case Day:
			b.number(styleDay, serial(time.Time(v)))
		default:
			return fmt.Errorf("a cell of a workbook has the type %T", v)
		}
	}
	_, err := b.sheet.WriteString("</row>\n")
	return err
}

// Close ends the workbook, without which it can't be opened.
func (b *Writer) Close() error {
	b.raw(sheetEnd)
	if err := b.sheet.Flush(); err != nil {
		return err
	}
	return b.file.Close()
}

func (b *Writer) text(style int, s string) {
	b.raw(`<c s="`, strconv.Itoa(style), `" t="inlineStr"><is><t xml:space="preserve">`)
	escape(b.sheet, shortened(s))
	b.raw(`</t></is></c>`)
}

func (b *Writer) number(style int, n float64) {
	b.raw(`<c s="`, strconv.Itoa(style), `"><v>`, strconv.FormatFloat(n, 'f', -1, 64), `</v></c>`)
}

// raw writes a part of the sheet. The writer repeats its first error until Close returns it.
func (b *Writer) raw(texts ...string) {
	for _, text := range texts {
		_, _ = b.sheet.WriteString(text)
	}
}

// serial returns a time as the number of days since the end of 1899, without its zone. It has
// whole seconds, since spreadsheets would round the last half second up to the next minute.
func serial(t time.Time) float64 {
	_, offset := t.Zone()
	local := t.Add(time.Duration(offset) * time.Second)
	start := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC)
	return float64(local.Unix()-start.Unix()) / (24 * 60 * 60)
}

// shortened cuts a text that is too long for a cell, between two characters.
func shortened(s string) string {
	if len(s) <= maxText { // a character has at least as many bytes as units
		return s
	}

	units, end := 0, 0
	for i, r := range s {
		if units <= maxText-len(cut) {
			end = i
		}
		if units += utf16.RuneLen(r); units > maxText {
			return s[:end] + cut
		}
	}
	return s
}

// escaped matches what readers of a workbook take for an escaped character, such as _x0041_.
var escaped = regexp.MustCompile(`_(x[0-9A-Fa-f]{4}_)`)

// escape writes a text as XML. Characters that XML does not have are removed, except for
// carriage returns, which the format can escape.
func escape(w io.Writer, s string) {
	if strings.Contains(s, "_x") {
		s = escaped.ReplaceAllString(s, "_x005F_$1")
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return -1
		}
		return r
	}, s)

	_ = xml.EscapeText(w, []byte(strings.ReplaceAll(s, "\r", "_x000D_"))) // a writer repeats its first error
}
