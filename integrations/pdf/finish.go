package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf16"
)

// metadata is what the file says of itself.
type metadata struct {
	title, author string
	lang          string    // BCP 47
	created       time.Time //
}

// errUnknownEnd says that the PDF library has changed how it ends a file.
var errUnknownEnd = errors.New("the file does not end the way the library writes it")

// finish rewrites the end of a file as the PDF library wrote it: document information,
// catalogue, cross-reference table and trailer. The library has no way to set the
// document's language, stamps the time of day as modification date and names no
// identifier; all three go here. It also replaces the font names by proper names of
// subsets. What comes before the information object stays where it is, so the objects'
// positions hold.
func finish(file []byte, m metadata) ([]byte, error) {
	offsets, err := objectOffsets(file)
	if err != nil {
		return nil, err
	}
	// The library writes the information and the catalogue last, in this order.
	info, root := len(offsets)-2, len(offsets)-1
	if offsets[info] >= offsets[root] {
		return nil, errUnknownEnd
	}
	body := file[:offsets[info]]
	if !bytes.HasPrefix(body, []byte("%PDF-1.")) || !bytes.Contains(file[offsets[info]:offsets[root]], []byte("/CreationDate")) {
		return nil, errUnknownEnd
	}
	body[7] = '4' // the first version that has a document language
	sum := sha256.Sum256(body)
	nameFonts(body, offsets[1:info], sum)

	out := bytes.NewBuffer(make([]byte, 0, len(body)+1024+20*len(offsets)))
	out.Write(body)
	offsets[info] = out.Len()
	date := m.created.UTC().Format("20060102150405") + "Z"
	fmt.Fprintf(out, "%d 0 obj\n<<\n/Producer (maroto)\n/Title %s\n", info, textString(m.title))
	if m.author != "" {
		fmt.Fprintf(out, "/Author %s\n", textString(m.author))
	}
	fmt.Fprintf(out, "/CreationDate (D:%s)\n/ModDate (D:%s)\n>>\nendobj\n", date, date)
	offsets[root] = out.Len()
	fmt.Fprintf(out, "%d 0 obj\n<<\n/Type /Catalog\n/Pages 1 0 R\n/Lang (%s)\n/ViewerPreferences <</DisplayDocTitle true>>\n>>\nendobj\n", root, m.lang)

	start := out.Len()
	fmt.Fprintf(out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets))
	for _, offset := range offsets[1:] {
		fmt.Fprintf(out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(out, "trailer\n<<\n/Size %d\n/Root %d 0 R\n/Info %d 0 R\n/ID [<%x><%x>]\n>>\nstartxref\n%d\n%%%%EOF\n",
		len(offsets), root, info, sum[:16], sum[:16], start)
	return out.Bytes(), nil
}

// objectOffsets reads the cross-reference table. Index 0 is unused, as in the file.
func objectOffsets(file []byte) ([]int, error) {
	broken := func(what string) error { return fmt.Errorf("reading the cross-reference table: no %s", what) }
	const mark = "startxref\n"
	at := bytes.LastIndex(file, []byte(mark))
	if at < 0 {
		return nil, broken("start")
	}
	digits, _, _ := bytes.Cut(file[at+len(mark):], []byte("\n"))
	start, err := strconv.Atoi(string(digits))
	if err != nil || start < 0 || start >= at {
		return nil, broken("start")
	}
	table, ok := bytes.CutPrefix(file[start:at], []byte("xref\n0 "))
	if !ok {
		return nil, broken("table")
	}
	head, rows, _ := bytes.Cut(table, []byte("\n"))
	size, err := strconv.Atoi(string(head))
	const row = 20 // bytes: ten digits, a blank, five digits, a blank, a letter, two for the end
	if err != nil || size < 4 || len(rows) < size*row {
		return nil, broken("rows")
	}
	offsets := make([]int, size)
	for i := 1; i < size; i++ {
		n, err := strconv.Atoi(string(rows[i*row : i*row+10]))
		if err != nil || n < 8 || n >= start {
			return nil, broken("place of an object")
		}
		offsets[i] = n
	}
	return offsets, nil
}

// nameFonts gives the embedded fonts their own names behind the tag of six letters
// that marks a subset. The tag follows from the file's contents.
func nameFonts(body []byte, offsets []int, sum [sha256.Size]byte) {
	tag := make([]byte, 6)
	n := binary.BigEndian.Uint64(sum[:])
	for i := range tag {
		tag[i] = 'A' + byte(n%26)
		n /= 26
	}
	for _, offset := range offsets {
		// Fonts and their descriptors are dictionaries without a stream.
		object := body[offset:]
		if end := bytes.Index(object, []byte("endobj")); end >= 0 {
			object = object[:end]
		}
		head := object[:min(len(object), 40)]
		if !bytes.Contains(head, []byte("<</Type /Font")) {
			continue
		}
		for registered, name := range map[string]string{
			regularFamily: "+LiberationSans",
			boldFamily:    "+LiberationSans-Bold",
		} {
			old := []byte("/utf8" + registered)
			for rest := object; ; {
				at := bytes.Index(rest, old)
				if at < 0 {
					break
				}
				rest = rest[at+1:]
				copy(rest, append(tag[:len(tag):len(tag)], name...))
			}
		}
	}
}

// textString encodes text as a PDF string in UTF-16, written in hexadecimal digits so
// that nothing in it needs escaping.
func textString(text string) string {
	raw := []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(text)) {
		raw = binary.BigEndian.AppendUint16(raw, unit)
	}
	return fmt.Sprintf("<%X>", raw)
}
