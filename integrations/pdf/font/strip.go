package font

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// errTable says that a font file is not built the way a TrueType font is.
var errTable = errors.New("the font file has a broken table")

// strip takes out of a TrueType font what a page never shows: the instructions that
// fit outlines to the pixels of coarse screens, and the long texts of its name table.
// The PDF library copies both into every document.
func strip(ttf []byte) ([]byte, error) {
	tables, err := readTables(ttf)
	if err != nil {
		return nil, err
	}
	for _, hinting := range []string{"cvt ", "fpgm", "prep", "gasp"} {
		delete(tables, hinting)
	}
	if err := stripGlyphs(tables); err != nil {
		return nil, err
	}
	// An empty name table: format 0, no records, texts behind the header; and two bytes
	// to make its length a multiple of four.
	tables["name"] = []byte{0, 0, 0, 0, 0, 6, 0, 0}
	for _, name := range copied() {
		if len(tables[name])%4 != 0 {
			return nil, fmt.Errorf("the font's table %q needs padding", name)
		}
	}
	return writeTables(tables), nil
}

// copied names the tables that the PDF library takes over as they are. To add up a
// table whose length is no multiple of four it writes zeros behind it, into the font
// that all documents share: a data race as soon as two are drawn at once.
func copied() []string {
	return []string{"name", "cvt ", "fpgm", "prep", "gasp", "OS/2"}
}

func readTables(ttf []byte) (map[string][]byte, error) {
	if len(ttf) < 12 {
		return nil, errTable
	}
	tables := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		record := 12 + 16*i
		if record+16 > len(ttf) {
			return nil, errTable
		}
		offset := int(binary.BigEndian.Uint32(ttf[record+8:]))
		length := int(binary.BigEndian.Uint32(ttf[record+12:]))
		if offset+length > len(ttf) {
			return nil, errTable
		}
		tables[string(ttf[record:record+4])] = ttf[offset : offset+length]
	}
	return tables, nil
}

// stripGlyphs removes the instructions of each glyph and writes the outlines and their
// places anew, the places in the short format.
func stripGlyphs(tables map[string][]byte) error {
	glyf, loca, head := tables["glyf"], tables["loca"], tables["head"]
	if len(head) < 54 || len(loca) < 4 {
		return errTable
	}
	long := binary.BigEndian.Uint16(head[50:]) == 1
	place := func(i int) int {
		if long {
			return int(binary.BigEndian.Uint32(loca[4*i:]))
		}
		return 2 * int(binary.BigEndian.Uint16(loca[2*i:]))
	}
	count := len(loca)/2 - 1
	if long {
		count = len(loca)/4 - 1
	}
	var outlines, places []byte
	for i := range count {
		from, to := place(i), place(i+1)
		if from > to || to > len(glyf) {
			return errTable
		}
		places = binary.BigEndian.AppendUint16(places, uint16(len(outlines)/2))
		glyph, err := stripGlyph(glyf[from:to])
		if err != nil {
			return err
		}
		outlines = append(outlines, glyph...)
		if len(outlines)%2 != 0 {
			outlines = append(outlines, 0)
		}
	}
	if len(outlines) > 2*0xffff {
		return errors.New("the font is too large to be stripped")
	}
	places = binary.BigEndian.AppendUint16(places, uint16(len(outlines)/2))
	head = slices.Clone(head)
	binary.BigEndian.PutUint16(head[50:], 0)
	tables["glyf"], tables["loca"], tables["head"] = outlines, places, head
	return nil
}

// stripGlyph returns a glyph without its instructions. In a simple glyph they stand
// between the ends of the contours and the points; a composite glyph has them last,
// announced by a flag of its components.
func stripGlyph(glyph []byte) ([]byte, error) {
	if len(glyph) == 0 {
		return nil, nil
	}
	if len(glyph) < 12 {
		return nil, errTable
	}
	if contours := int(int16(binary.BigEndian.Uint16(glyph))); contours >= 0 {
		at := 10 + 2*contours
		if at+2 > len(glyph) {
			return nil, errTable
		}
		points := at + 2 + int(binary.BigEndian.Uint16(glyph[at:]))
		if points > len(glyph) {
			return nil, errTable
		}
		out := append(slices.Clone(glyph[:at]), 0, 0)
		return append(out, glyph[points:]...), nil
	}
	const (
		wideArgs     = 1 << 0
		scaled       = 1 << 3
		more         = 1 << 5
		scaledXY     = 1 << 6
		transformed  = 1 << 7
		instructions = 1 << 8
	)
	out := slices.Clone(glyph)
	for at := 10; ; {
		if at+6 > len(out) {
			return nil, errTable
		}
		flags := binary.BigEndian.Uint16(out[at:])
		binary.BigEndian.PutUint16(out[at:], flags&^instructions)
		at += 6
		if flags&wideArgs != 0 {
			at += 2
		}
		switch {
		case flags&scaled != 0:
			at += 2
		case flags&scaledXY != 0:
			at += 4
		case flags&transformed != 0:
			at += 8
		}
		if at > len(out) {
			return nil, errTable
		}
		if flags&more == 0 {
			return out[:at], nil
		}
	}
}

// writeTables builds a font file of tables, in the order of their names.
func writeTables(tables map[string][]byte) []byte {
	names := make([]string, 0, len(tables))
	for name := range tables {
		names = append(names, name)
	}
	slices.Sort(names)
	// Search parameters of the header: the largest power of two that fits.
	power, log := 1, 0
	for power*2 <= len(names) {
		power, log = power*2, log+1
	}
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{len(names), 16 * power, log, 16 * (len(names) - power)} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	offset := 12 + 16*len(names)
	for _, name := range names {
		out = append(out, name...)
		for _, v := range []int{checksum(tables[name]), offset, len(tables[name])} {
			out = binary.BigEndian.AppendUint32(out, uint32(v))
		}
		offset += (len(tables[name]) + 3) &^ 3
	}
	for _, name := range names {
		out = append(out, tables[name]...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	return out
}

func checksum(table []byte) int {
	var sum uint32
	for len(table) >= 4 {
		sum += binary.BigEndian.Uint32(table)
		table = table[4:]
	}
	var rest [4]byte
	copy(rest[:], table)
	return int(sum + binary.BigEndian.Uint32(rest[:]))
}
