package cachetest

import (
	"slices"
	"testing"

	"siteapi/integrations/cache"
)

// clearCases are about patterns.
func clearCases() map[string]func(*testing.T, cache.Cache) {
	cases := map[string]func(*testing.T, cache.Cache){
		"a clear counts what was stored": func(t *testing.T, c cache.Cache) {
			g := newGate("v")
			waiting := later(t.Context(), c, "content:under way", long(), g.fill)
			g.wait(t)
			put(t, c, "content:a", "content:b", "quote:pdf:1")
			n, err := c.Clear(t.Context(), pattern(t, "content:*"))
			if err != nil || n != 2 {
				t.Errorf("cleared %d, %v; want 2", n, err)
			}
			if n, err = c.Clear(t.Context(), pattern(t, "content:*")); err != nil || n != 0 {
				t.Errorf("cleared %d, %v the second time; want 0", n, err)
			}
			g.release()
			receive(t, waiting)
			get(t, c, "quote:pdf:1", long(), forbidden(t), "value of quote:pdf:1")
		},
		"a clear removes thousands": func(t *testing.T, c cache.Cache) {
			for i := range 3000 {
				put(t, c, "bulk:"+string(rune('a'+i%26))+string(rune('0'+i/26%10))+string(rune('0'+i/260)))
			}
			size := c.Stats(t.Context()).Size
			if n, err := c.Clear(t.Context(), cache.All()); err != nil || n != size || n < 2600 {
				t.Errorf("cleared %d of %d, %v", n, size, err)
			}
			if size = c.Stats(t.Context()).Size; size != 0 {
				t.Errorf("%d left", size)
			}
		},
	}
	keys := oddKeys()
	for _, text := range []string{
		"*", "**", "content:*", "content:locale:en", `content:locale:\*`, "*locale*", "content:locale:??", `\[content\]`, "[[]*",
		`back\\slash`, `*\\*`, "[*]", "[^*]", "?", "{*}", "[a-e]:*", "[e-a]:*", "[^a-z]*", "*[", "[", "[]*", "[^]*", "*\n*", "*\x00*", "*ț*",
		"nothing like it", "e:*", "l:*", "[ab", `*\`, "*n[g-", "[^",
	} {
		cases["clear "+text] = func(t *testing.T, c cache.Cache) {
			put(t, c, keys...)
			p := pattern(t, text)
			left := slices.DeleteFunc(slices.Clone(keys), p.Match)
			n, err := c.Clear(t.Context(), p)
			if err != nil || n != len(keys)-len(left) {
				t.Errorf("cleared %d, %v; want %d", n, err, len(keys)-len(left))
			}
			for _, key := range keys {
				if _, ok := c.Peek(t.Context(), key); ok != slices.Contains(left, key) {
					t.Errorf("%.40q is there: %v", key, ok)
				}
			}
			if size := c.Stats(t.Context()).Size; size != len(left) {
				t.Errorf("size %d, want %d", size, len(left))
			}
		}
	}
	return cases
}
