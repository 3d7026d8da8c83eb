package strictjson_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"siteapi/schema/strictjson"
)

func TestDecode(t *testing.T) {
	t.Parallel()

	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, tt := range []struct{ name, in, want, err string }{
		{"everything", ` {"a":[1,2.50,true,null,"x\n\u00e9"],"b":{"":-0e-7}} `,
			`{"a":[1,2.50,true,null,"x\né"],"b":{"":0}}`, ""},
		{"whole numbers", `[5,5.0,5e0,50e-1,0.5E+1,-5.00,0.0,1e15,9007199254740991.0]`,
			`[5,5,5,5,5,-5,0,1000000000000000,9007199254740991]`, ""},
		{"other numbers", `[5.5,5.05,1e16,1e400,-1e400,9007199254740992.0,5e-1,12345678901234567890]`,
			`[5.5,5.05,1e16,1e400,-1e400,9007199254740992.0,5e-1,12345678901234567890]`, ""},
		{"a long number", `12345678901234567890.10`, `12345678901234567890.10`, ""},
		{"half a surrogate pair", `"a\ud83d"`, `"a�"`, ""},
		{"64 levels", deep(64), deep(64), ""},
		{"65 levels", deep(65), "", "nested deeper than 64 levels (line 1, column 66)"},
		{"many nested lists", strings.Repeat(`[`, 60_000), "", "nested deeper than 64 levels"},
		{"many nested objects", strings.Repeat(`{"a":`, 60_000), "", "nested deeper than 64 levels"},
		{"nothing", ``, "", "empty: it has no JSON value"},
		{"white space", " \n", "", "empty"},
		{"cut off", `{"a":"b"`, "", "it ends too early (line 1, column 9)"},
		{"cut off in a string", `{"a":"b`, "", "it ends too early"},
		{"cut off in a word", `{"a":tru`, "", "it ends too early"},
		{"a form", `a=1`, "", "unexpected character (line 1, column 1)"},
		{"trailing comma", "{\n  \"a\": 1,\n}", "", "unexpected character (line 2, column 9)"},
		{"comment", `{} // x`, "", "something follows the value"},
		{"second value", `{} {}`, "", "something follows the value"},
		{"NaN", `[NaN]`, "", "unexpected character"},
		{"leading zero", `[01]`, "", "unexpected character"},
		{"byte order mark", "\ufeff{}", "{}", ""},
		{"byte order mark and white space", "\ufeff\r\n [1]", "[1]", ""},
		{"byte order mark in a string", "\"\ufeff\"", "\"\ufeff\"", ""},
		{"byte order mark and an error", "\ufeff{\"a\":}", "", "unexpected character (line 1, column 6)"},
		{"only a byte order mark", "\ufeff", "", "empty"},
		{"two byte order marks", "\ufeff\ufeff{}", "", "unexpected character (line 1, column 1)"},
		{"byte order mark after white space", " \ufeff{}", "", "unexpected character"},
		{"byte order mark at the end", "{}\ufeff", "", "something follows the value"},
		{"byte order mark within", "[\ufeff1]", "", "unexpected character"},
		{"byte order mark of UTF-16", "\xff\xfe{\x00}\x00", "", "it is not UTF-8"},
		{"half a byte order mark", "\xef\xbb{}", "", "it is not UTF-8"},
		{"name twice", `{"a":1,"b":{"c":1,"c":2}}`, "", "the same name twice"},
		{"name twice by an escape", `{"a":1,"\u0061":2}`, "", "the same name twice"},
		{"invalid UTF-8", "\"\xff\"", "", "it is not UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "", "it is not UTF-8"},
		{"raw NUL", "\"\x00\"", "", "unexpected character"},
		{"line break in a string", "\"a\nb\"", "", "unexpected character"},
	} {
		got, err := strictjson.Decode([]byte(tt.in))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || len(err.Error()) > 100 {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			continue
		}

		if text, _ := json.Marshal(got); err != nil || string(text) != tt.want {
			t.Errorf("%s: got %s, %v", tt.name, text, err)
		}
	}
}

// TestMemory checks that no input, accepted or rejected, costs much more than ten times its
// size.
func TestMemory(t *testing.T) {
	const size = 1 << 20

	for name, part := range map[string]string{
		"small objects": `{"":0},`,
		"empty objects": `{},`,
		"zeros":         `0,`,
		"empty lists":   `[],`,
		"nulls":         `null,`,
		"strings":       `"a",`,
		"long strings":  `"` + strings.Repeat("a", 1000) + `",`,
		"escapes":       `"` + strings.Repeat(`\u0041`, 200) + `",`,
		"a document": `{"_key":"a1b2c3d4e5f6","_type":"span","marks":[],` +
			`"text":"As long as a paragraph of an editor usually is."},`,
	} {
		in := []byte("[" + strings.Repeat(part, size/len(part)) + "0]")

		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)

		v, err := strictjson.Decode(in)
		runtime.ReadMemStats(&after)

		if spent := after.TotalAlloc - before.TotalAlloc; spent > 13*size {
			t.Errorf("%s: %d bytes for each byte of input (%v)", name, spent/size, err)
		}

		runtime.KeepAlive(v)
	}
}

// FuzzDecode compares Decode with encoding/json, which accepts more. Both must decode an
// accepted input to the same value, unless it has a number that is out of range.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,true,null,"x\n\u00e9"],"b":{"":-0e-7}}`,
		`"\ud83d\ude00"`,
		`{"a":1,"a":2}`,
		`1 2`,
		"\ufeff{}",
		`[5.0,5e0,1e16,1.5]`,
		"\"\xff\"",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := strictjson.Decode(in)
		if err != nil {
			return
		}

		dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(in, []byte("\ufeff"))))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("accepted %q, which encoding/json does not: %v", in, err)
		}

		gotText, _ := json.Marshal(got)
		wantText, _ := json.Marshal(want)
		if json.Unmarshal(wantText, &want) != nil {
			return
		}
		if err := json.Unmarshal(gotText, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: read %s, encoding/json %s", in, gotText, wantText)
		}
	})
}
