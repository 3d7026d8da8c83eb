package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A result of at most 60 KB stays as it is, byte for byte. A longer one is cut at whole items,
// says how many are missing and how to go on, and ends as a page of that length would.
func TestCut(t *testing.T) {
	t.Parallel()
	items := func(n, size int, format string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(format, i, strings.Repeat("ă", size/2))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for name, c := range map[string]struct {
		result string
		offset int
		pages  bool
		want   []string // in the result
		lacks  string
		least  int // bytes that stay
	}{
		"it fits": {result: `{"z":1,"a":"<b>","n":9007199254740993}`, want: []string{`{"z":1,"a":"<b>","n":9007199254740993}`}},
		"documents": {
			result: `{"documents":` + items(200, 1000, `{"id":"d%d","fields":{"t":"%s","n":9007199254740993}}`) + `,"total":900}`,
			offset: 100, pages: true,
			want: []string{`"total":900`, "items of `documents` are left out: go on with `offset` 1", `"id":"d0"`, "9007199254740993"}, lacks: `"d199"`,
		},
		"a connection": {
			result: `{"edges":` + items(100, 1000, `{"cursor":"c%d","node":{"m":"%s"}}`) + `,"pageInfo":{"hasNextPage":false,"endCursor":"c99"}}`,
			want:   []string{`"hasNextPage":true`, "of 100 items of `edges` are left out: go on with `after`", `"c0"`}, lacks: `"c99"`,
		},
		"a list within an object": {
			result: `{"result":{"reference":"LR4LB5AK","notes":` + items(200, 1000, `{"n":%d,"text":"%s"}`) + `}}`,
			want:   []string{`"LR4LB5AK"`, `{"n":199,`, "of 200 items of `result.notes` are left out: the oldest"}, lacks: `{"n":0,`,
		},
		"one long document": {
			result: `{"documents":[{"id":"d","fields":{"body":` + items(50, 4000, `{"k":%d,"t":"%s"}`) + `}}],"total":1}`, pages: true,
			want: []string{`"total":1`, "of 50 items of `documents[0].fields.body` are left out"}, lacks: "offset",
		},
		"one long text": {
			result: `{"result":"` + strings.Repeat("ă", 50_000) + `"}`,
			want:   []string{"the end of `result` is left out"}, least: 58_000,
		},
		"escapes of HTML": { // they need not be cut
			result: `{"result":"` + strings.Repeat(`\u003cbr\u003e`, 6000) + `"}`,
			want:   []string{`<br><br>"}`}, least: 24_000,
		},
		"a long text in HTML": {
			result: `{"id":"d","result":"` + strings.Repeat(`\u003cp lang=\"ro\"\u003eă\u0026\u003c/p\u003e\n`, 7000) + `"}`,
			want:   []string{`<p lang=\"ro\">ă&</p>\n`, "…", "the end of `result` is left out"}, least: 58_000,
		},
		"a text of escapes": {result: `{"result":"` + strings.Repeat(`\u0001\"\n`, 20_000) + `"}`, want: []string{"left out"}, least: 58_000},
		"a list of lists":   {result: `{"result":[` + items(100, 1000, `"%d%s"`) + `]}`, want: []string{"of 100 items of `result[0]`"}},
		"two long lists": {
			result: `{"a":` + items(100, 800, `"%d%s"`) + `,"b":` + items(100, 800, `"%d%s"`) + `}`,
			want:   []string{"items of `a`", "items of `b`"},
		},
	} {
		got, ok := cut([]byte(c.result), c.offset, c.pages)
		var decoded map[string]any
		if !ok || len(got) > 60_000 || len(got) < c.least || json.Unmarshal(got, &decoded) != nil || c.lacks != "" && strings.Contains(string(got), c.lacks) {
			t.Errorf("%s: %v, %d bytes: %.300s", name, ok, len(got), got)
		}
		for _, want := range c.want {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s lacks %s: %v", name, want, decoded["cut"])
			}
		}
		if edges, ok := decoded["edges"].([]any); ok {
			last := edges[len(edges)-1].(map[string]any)["cursor"]
			if info := decoded["pageInfo"].(map[string]any); info["endCursor"] != last {
				t.Errorf("%s ends at %v, its last item is %v", name, info["endCursor"], last)
			}
		}
		if documents, ok := decoded["documents"].([]any); ok && c.offset > 0 {
			if want := fmt.Sprintf("`offset` %d", c.offset+len(documents)); !strings.Contains(fmt.Sprint(decoded["cut"]), want) {
				t.Errorf("%s: %v, want %s", name, decoded["cut"], want)
			}
		}
	}

	wide := make([]string, 20_000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"k%d":[]`, i)
	}
	if _, ok := cut([]byte("{"+strings.Join(wide, ",")+"}"), 0, false); ok {
		t.Error("an object of many small values was cut")
	}
}
