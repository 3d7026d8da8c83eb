package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// maxResult is the maximum size of a result in bytes of text. More would displace what a
// model knows otherwise. maxNotes bytes of it are for
// saying what was left out.
const (
	maxResult = 60_000
	maxNotes  = 1000
	maxCuts   = 5
)

// cut shortens a result that is too long: it leaves items out at the end of the longest list,
// of notes the oldest. The field `cut` says how many, and how to go on if the list has pages.
// A connection ends at its last item. It returns false if the result stays too long.
func cut(result []byte, offset int, pages bool) ([]byte, bool) {
	if len(result) <= maxResult {
		return result, true
	}
	var all map[string]any
	numbers := json.NewDecoder(bytes.NewReader(result))
	numbers.UseNumber()
	_ = numbers.Decode(&all) // the executor has written it

	// The executor escapes more characters than the encoding of what is left.
	result = encode(all)
	var notes []string
	for len(result) > maxResult && len(notes) < maxCuts {
		shorter, note := shorten(all, "", len(result)-maxResult+maxNotes, offset, pages)
		all, _ = shorter.(map[string]any)
		notes = append(notes, note)
		all["cut"] = notes
		result = encode(all)
	}
	return result, len(result) <= maxResult
}

// shorten removes excess bytes of JSON from the largest part of a value, which is at a path.
func shorten(value any, path string, excess, offset int, pages bool) (shorter any, note string) {
	switch v := value.(type) {
	case map[string]any:
		largest := ""
		for name := range v {
			if largest == "" || len(encode(v[name])) > len(encode(v[largest])) {
				largest = name
			}
		}
		v[largest], note = shorten(v[largest], strings.TrimPrefix(path+"."+largest, "."), excess,
			offset, pages)
		if edges, ok := v["edges"].([]any); ok && largest == "edges" && len(edges) > 0 {
			last, _ := edges[len(edges)-1].(map[string]any)
			v["pageInfo"] = map[string]any{"hasNextPage": true, "endCursor": last["cursor"]}
			note += ": go on with `after`"
		}
		return v, note

	case []any:
		isNotes := strings.HasSuffix(path, ".notes") // of a lead, the newest last
		n, removed := len(v), 0
		for n > 1 && removed < excess {
			n--
			out := n
			if isNotes {
				out = len(v) - 1 - n
			}
			removed += len(encode(v[out]))
		}
		if n < len(v) {
			note = fmt.Sprintf("%d of %d items of `%s` are left out", len(v)-n, len(v), path)
			switch {
			case isNotes:
				return v[len(v)-n:], note + ": the oldest, which are in the inbox"
			case pages && path == "documents":
				note += fmt.Sprintf(": go on with `offset` %d", offset+n)
			}
			return v[:n], note
		}
		if n == 1 {
			v[0], note = shorten(v[0], path+"[0]", excess, offset, pages)
		}
		return v, note

	case string:
		room := len(encode(v)) - excess
		start := func(n int) string { return strings.ToValidUTF8(v[:n], "") }
		end := sort.Search(len(v), func(n int) bool { return len(encode(start(n+1))) > room })
		return start(end) + "…", fmt.Sprintf("the end of `%s` is left out", path)
	}
	return nil, fmt.Sprintf("`%s` is left out", path)
}

func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it was decoded from JSON
	return bytes.TrimRight(out.Bytes(), "\n")
}
