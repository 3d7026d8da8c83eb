package pdf

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// finisher turns a file as the PDF library writes it into the file that is sent. The
// library has no way to set the document's language, stamps the time of day as
// modification date, gives fonts names of its own and names no identifier; all that is
// made good here, and page contents are compressed, for which the library would set a
// new compressor up each time.
type finisher struct {
	// compressors waits for use. A sync.Pool would not do: drawing a page needs so much
	// memory that the collector would have emptied the pool by the next one.
	compressors chan *zlib.Writer
}

// idleCompressors is how many compressors are kept, of about a megabyte each.
const idleCompressors = 2

func newFinisher() *finisher {
	return &finisher{compressors: make(chan *zlib.Writer, idleCompressors)}
}

// compress returns data as a zlib stream.
func (f *finisher) compress(data []byte) ([]byte, error) {
	var (
		out bytes.Buffer
		w   *zlib.Writer
		err error
	)
	select {
	case w = <-f.compressors:
		w.Reset(&out)
	default:
		if w, err = zlib.NewWriterLevel(&out, zlib.BestSpeed); err != nil {
			return nil, fmt.Errorf("setting up the compressor: %w", err)
		}
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	select {
	case f.compressors <- w:
	default:
	}
	return out.Bytes(), nil
}

// finish copies a file's objects and writes its information, catalogue,
// cross-reference table and trailer anew.
func (f *finisher) finish(file []byte, m metadata) ([]byte, error) {
	offsets, end, err := objectOffsets(file)
	if err != nil {
		return nil, err
	}
	// The library writes the information and the catalogue last, in this order.
	info, root := len(offsets)-2, len(offsets)-1
	if offsets[info] >= offsets[root] || !bytes.HasPrefix(file, []byte("%PDF-1.")) ||
		!bytes.Contains(file[offsets[info]:offsets[root]], []byte("/CreationDate")) {
		return nil, errUnknownEnd
	}
	sum := sha256.Sum256(file[:offsets[info]])
	names := fontNames(sum)

	inOrder := make([]int, 0, info)
	for number := 1; number < info; number++ {
		inOrder = append(inOrder, number)
	}
	slices.SortFunc(inOrder, func(a, b int) int { return offsets[a] - offsets[b] })
	out := bytes.NewBuffer(make([]byte, 0, end+1024))
	out.WriteString("%PDF-1.4\n") // the first version that has a document language
	for i, number := range inOrder {
		until := offsets[info]
		if i+1 < len(inOrder) {
			until = offsets[inOrder[i+1]]
		}
		object := file[offsets[number]:until]
		offsets[number] = out.Len()
		if err := f.copyObject(out, object, names); err != nil {
			return nil, fmt.Errorf("object %d: %w", number, err)
		}
	}
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
	id := sha256.Sum256(fmt.Appendf(sum[:], "%q %q %q %s", m.title, m.author, m.lang, date))
	fmt.Fprintf(out, "trailer\n<<\n/Size %d\n/Root %d 0 R\n/Info %d 0 R\n/ID [<%x><%x>]\n>>\nstartxref\n%d\n%%%%EOF\n",
		len(offsets), root, info, id[:16], id[:16], start)
	return out.Bytes(), nil
}

// objectOffsets reads the cross-reference table and returns where objects begin, by
// their numbers, and where the table does. Index 0 is unused, as in the file.
func objectOffsets(file []byte) (offsets []int, table int, err error) {
	broken := func(what string) ([]int, int, error) {
		return nil, 0, fmt.Errorf("reading the cross-reference table: no %s", what)
	}
	const mark = "startxref\n"
	at := bytes.LastIndex(file, []byte(mark))
	if at < 0 {
		return broken("start")
	}
	digits, _, _ := bytes.Cut(file[at+len(mark):], []byte("\n"))
	start, err := strconv.Atoi(string(digits))
	if err != nil || start < 0 || start >= at {
		return broken("start")
	}
	rows, ok := bytes.CutPrefix(file[start:at], []byte("xref\n0 "))
	if !ok {
		return broken("table")
	}
	head, rows, _ := bytes.Cut(rows, []byte("\n"))
	size, err := strconv.Atoi(string(head))
	const row = 20 // bytes: ten digits, a blank, five digits, a blank, a letter, two for the end
	if err != nil || size < 4 || len(rows) < size*row {
		return broken("rows")
	}
	offsets = make([]int, size)
	for i := 1; i < size; i++ {
		n, err := strconv.Atoi(string(rows[i*row : i*row+10]))
		if err != nil || n < 8 || n >= start {
			return broken("place of an object")
		}
		offsets[i] = n
	}
	return offsets, start, nil
}

// copyObject copies an object, compressing its stream if it has a plain one and
// replacing the names of fonts if it is about one.
func (f *finisher) copyObject(out *bytes.Buffer, object []byte, names *strings.Replacer) error {
	head, body, ok := bytes.Cut(object, []byte(" 0 obj\n"))
	if !ok {
		return errUnknownEnd
	}
	out.Write(head)
	out.WriteString(" 0 obj\n")
	if bytes.HasPrefix(body, []byte("<</Type /Font")) {
		_, err := names.WriteString(out, string(body))
		return err
	}
	rest, ok := bytes.CutPrefix(body, []byte("<</Length "))
	if !ok {
		out.Write(body)
		return nil
	}
	digits, rest, ok := bytes.Cut(rest, []byte(">>\nstream\n"))
	length, err := strconv.Atoi(string(digits))
	if !ok || err != nil || length > len(rest) { // compressed by the library
		out.Write(body)
		return nil //nolint:nilerr // what isn't ours to pack is copied
	}
	packed, err := f.compress(rest[:length])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "<</Filter /FlateDecode /Length %d>>\nstream\n", len(packed))
	out.Write(packed)
	out.WriteString("\nendstream\nendobj\n")
	return nil
}

// fontNames replaces the names that fonts are registered under by their own names
// behind the tag of six letters that marks a subset. The tag follows from the file.
func fontNames(sum [sha256.Size]byte) *strings.Replacer {
	tag := make([]byte, 6)
	n := binary.BigEndian.Uint64(sum[:])
	for i := range tag {
		tag[i] = 'A' + byte(n%26)
		n /= 26
	}
	return strings.NewReplacer(
		"/utf8"+regularFamily, "/"+string(tag)+"+LiberationSans",
		"/utf8"+boldFamily, "/"+string(tag)+"+LiberationSans-Bold",
	)
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
