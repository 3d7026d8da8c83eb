package cache_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, yes, no string // keys separated by spaces
	}{
		{"content:*", "content: content:locale:en", "content Content:x xcontent:"},
		{"h?llo", "hello hxllo", "hllo heello"},
		{"h[ae]llo", "hello hallo", "hillo h[ae]llo"},
		{"h[^e]llo", "hallo h^llo", "hello hllo"},
		{"h[a-c]llo", "hallo hbllo", "hdllo h-llo"},
		{"h[c-a]llo", "hallo hbllo", "hdllo h-llo"},
		{`\*`, "*", "a **"},
		{`\`, `\`, "a"},
		{`a\`, `a\`, "a"},
		{`[\]]`, `]`, `\ a`},
		{"[]", "", "] []"},
		{"[^]", "a ]", "ab"},
		{"[abc", "a c", "[abc d"},
		{"[a-", "a -", "b"},
		{"[a-]", "a ] ^", "b -"},
		{"[", "", "["},
		{"[^", "a ^", "ab"},
		{"a**b", "ab axxb", "a b"},
		{"*a*b*", "ab xaxbx", "ba"},
		{"ș", "ș", "s"},
		{"??", "ș ab", "s"},
		{"[a-zA-Z0-9]", "a Z 5", "_ -"},
	} {
		p := cache.Pattern(c.pattern)
		for _, key := range strings.Fields(c.yes) {
			if !p.Match(key) {
				t.Errorf("%q doesn't match %q", c.pattern, key)
			}
		}

		for _, key := range strings.Fields(c.no) {
			if p.Match(key) {
				t.Errorf("%q matches %q", c.pattern, key)
			}
		}
	}
}

// TestMatchIsNotExponential checks that the time of a match is not exponential in the
// number of stars.
func TestMatchIsNotExponential(t *testing.T) {
	t.Parallel()
	p := cache.Pattern(strings.Repeat("*a", 127) + "b")
	if cache.Pattern("").Match("") {
		t.Error("the empty Pattern matches")
	}
	key := strings.Repeat("a", 100_000)
	begin := time.Now()

	if p.Match(key) {
		t.Error("the pattern matches")
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestMatchEqualsServer compares the matches of many random patterns and keys with those
// of a real server.
func TestMatchEqualsServer(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))

	// The driver also uses a prefix, and servers treat an empty key specially.
	const prefix = "p:"
	keys := map[string]bool{}
	args := []string{"MSET"}
	for len(keys) < 400 {
		key := randomText(random, `ab-]^\*?[ș`, random.IntN(7))
		if !keys[key] {
			keys[key] = true
			args = append(args, prefix+key, "")
		}
	}

	if _, err := server.Do(args...); err != nil {
		t.Fatalf("storing: %v", err)
	}

	for range 300 {
		text := randomText(random, `ab-]^\*?[`+`**[[--`, 1+random.IntN(9))
		p := cache.Pattern(text)
		reply, err := server.Do("KEYS", prefix+text)
		if err != nil {
			t.Fatal(err)
		}
		matching, _ := reply.([]any)

		for key := range keys {
			want := slices.Contains(matching, any(prefix+key))
			if p.Match(key) != want {
				t.Errorf("pattern %q, key %q: Match returns %v, the server %v", text, key, !want, want)
			}
		}

		if exact := cache.Pattern(cache.Escape(text)); !exact.Match(text) {
			t.Errorf("%q escaped doesn't match itself", text)
		}
	}
}

// randomText returns n characters of an alphabet.
func randomText(random *rand.Rand, alphabet string, n int) string {
	letters := []rune(alphabet)
	text := make([]rune, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}
