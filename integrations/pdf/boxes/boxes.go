// Package boxes reads back what stands where on the pages of a quote: every text, bar
// and picture with its place. It understands the files this service draws and no
// others, and needs no tool beyond Go; tests and benchmarks build on it.
package boxes

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Kind is what a mark is.
type Kind string

// The kinds of marks.
const (
	Text    Kind = "text"
	Bar     Kind = "bar"
	Picture Kind = "picture"
)

// Colour is red, green and blue, 0 to 255.
type Colour [3]int

// Mark is one thing on a page. Places are in millimetres from the page's upper left
// corner: of a text the beginning of its baseline, of others their upper left corner.
type Mark struct {
	Kind   Kind
	X, Y   float64
	W, H   float64 // bars and pictures
	Text   string
	Bold   bool
	Size   float64 // of a text's type, in points
	Colour Colour
}

// Page is the marks of one page, in the order they are drawn.
type Page []Mark

const (
	pageHeight = 841.89 // points
	mmPerPt    = 25.4 / 72
)

// Read returns the pages of a file.
func Read(file []byte) ([]Page, error) {
	objects, err := readObjects(file)
	if err != nil {
		return nil, err
	}
	bold, err := boldFonts(objects)
	if err != nil {
		return nil, err
	}
	var pages []Page
	// The page tree comes first: it names the pages in order.
	kids := regexp.MustCompile(`/Kids \[([^\]]*)\]`).FindSubmatch(objects[1])
	if kids == nil {
		return nil, errors.New("the file has no page tree")
	}
	for _, kid := range regexp.MustCompile(`(\d+) 0 R`).FindAllSubmatch(kids[1], -1) {
		contents := regexp.MustCompile(`/Contents (\d+) 0 R`).FindSubmatch(objects[atoi(kid[1])])
		if contents == nil {
			return nil, errors.New("a page has no contents")
		}
		stream, err := inflate(objects[atoi(contents[1])])
		if err != nil {
			return nil, fmt.Errorf("reading a page: %w", err)
		}
		page, err := readPage(stream, bold)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// readObjects cuts a file into its objects by the cross-reference table.
func readObjects(file []byte) (map[int][]byte, error) {
	tail := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\s*$`).FindSubmatch(file)
	if tail == nil {
		return nil, errors.New("the file has no end")
	}
	start := atoi(tail[1])
	if start >= len(file) {
		return nil, errors.New("the file has no cross-reference table")
	}
	objects := map[int][]byte{}
	for number, row := range regexp.MustCompile(`(\d{10}) \d{5} [nf]`).FindAllSubmatch(file[start:], -1) {
		offset := atoi(row[1])
		head := fmt.Appendf(nil, "%d 0 obj\n", number)
		if number == 0 {
			continue
		}
		if offset >= start || !bytes.HasPrefix(file[offset:], head) {
			return nil, fmt.Errorf("object %d is not where the table says", number)
		}
		body := file[offset+len(head) : start]
		// Streams end with their length, other objects with the word.
		if length := regexp.MustCompile(`^<<[^>]*?/Length (\d+)`).FindSubmatch(body[:min(len(body), 200)]); length != nil {
			if at := bytes.Index(body, []byte("stream\n")); at >= 0 {
				body = body[:min(len(body), at+len("stream\n")+atoi(length[1]))]
			}
		} else if end := bytes.Index(body, []byte("endobj")); end >= 0 {
			body = body[:end]
		}
		objects[number] = body
	}
	return objects, nil
}

// boldFonts returns which names in page contents stand for the bold face.
func boldFonts(objects map[int][]byte) (map[string]bool, error) {
	bold := map[string]bool{}
	for _, font := range regexp.MustCompile(`/F([0-9a-f]+) (\d+) 0 R`).FindAllSubmatch(objects[2], -1) {
		bold[string(font[1])] = bytes.Contains(objects[atoi(font[2])], []byte("-Bold")) ||
			bytes.Contains(objects[atoi(font[2])], []byte("bold"))
	}
	if len(bold) == 0 {
		return nil, errors.New("the file has no fonts")
	}
	return bold, nil
}

func inflate(object []byte) ([]byte, error) {
	_, data, ok := bytes.Cut(object, []byte("stream\n"))
	if !ok {
		return nil, errors.New("no stream")
	}
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func atoi(digits []byte) int {
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return math.MaxInt32
	}
	return n
}

func mm(points float64) float64 { return math.Round(points*mmPerPt*100) / 100 }

// utf16Text decodes the text of a string operand, whose escapes are undone.
func utf16Text(raw string) string {
	raw = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`, `\r`, "\r").Replace(raw)
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return string(utf16.Decode(units))
}
