package font

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// TestStripKeepsOutlines compares every glyph of a cut with the original's.
func TestStripKeepsOutlines(t *testing.T) {
	t.Parallel()
	family, err := Wide()
	if err != nil {
		t.Fatal(err)
	}
	regular, bold := Full()
	for _, pair := range []struct{ cut, whole []byte }{{family.Regular.TTF, regular}, {family.Bold.TTF, bold}} {
		cut, err := sfnt.Parse(pair.cut)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := sfnt.Parse(pair.whole)
		if err != nil {
			t.Fatal(err)
		}
		var a, b sfnt.Buffer
		ppem := fixed.I(int(whole.UnitsPerEm()))
		compared := 0
		for r := rune(0x20); r <= Missing; r++ {
			if !family.Has(r) {
				continue
			}
			i, _ := cut.GlyphIndex(&a, r)
			j, _ := whole.GlyphIndex(&b, r)
			got, err := cut.LoadGlyph(&a, i, ppem, nil)
			if err != nil {
				t.Fatalf("U+%04X: %v", r, err)
			}
			want, err := whole.LoadGlyph(&b, j, ppem, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("U+%04X has %d segments, want %d", r, len(got), len(want))
			}
			for k := range got {
				if got[k] != want[k] {
					t.Fatalf("U+%04X differs in segment %d", r, k)
				}
			}
			compared++
		}
		if compared < 900 {
			t.Errorf("only %d glyphs were compared", compared)
		}
	}
}

func TestStripRefusesBrokenFonts(t *testing.T) {
	t.Parallel()
	family, err := Latin()
	if err != nil {
		t.Fatal(err)
	}
	good := family.Regular.TTF
	tables, err := readTables(good)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, data []byte) []byte {
		changed := map[string][]byte{}
		for n, d := range tables {
			changed[n] = d
		}
		changed[name] = data
		return writeTables(changed)
	}
	long := bytes.Clone(tables["loca"])
	binary.BigEndian.PutUint16(long[len(long)-2:], 0xffff)
	for name, ttf := range map[string][]byte{
		"nothing":              nil,
		"a cut directory":      good[:40],
		"a cut file":           good[:len(good)/2],
		"no outlines' places":  with("loca", nil),
		"a place past the end": with("loca", long),
		"outlines of noise":    with("glyf", bytes.Repeat([]byte{0xff}, len(tables["glyf"]))),
		"endless contours":     with("glyf", bytes.Repeat([]byte{0x7f}, len(tables["glyf"]))),
		"no header":            with("head", nil),
	} {
		if _, err := strip(ttf); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if again, err := strip(good); err != nil || len(again) > len(good) {
		t.Errorf("a stripped font can't be stripped again: %v", err)
	}
}
