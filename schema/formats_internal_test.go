package schema

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlainEmail: what is taken without asking the library is what the library takes.
func TestPlainEmail(t *testing.T) {
	t.Parallel()
	f := NewFormats()
	pieces := []string{"a", "b", "c", "Z", "9", "ana", ".", ".", ".", "-", "_", "+", "com", "x1", " ", "~", "ț", "\x00", "@"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	plain := 0
	for range 500_000 {
		var halves [2]string
		for i := range halves {
			for range 1 + random.IntN(6) {
				halves[i] += pieces[random.IntN(len(pieces))]
			}
		}
		s := halves[0] + "@" + halves[1]
		local, domain, _ := strings.Cut(s, "@")
		if !plainLocal(local) || !plainDomain(domain) {
			continue
		}
		plain++
		if f.validate.Var(s, "email") != nil {
			t.Errorf("%q is plain, and no address", s)
		}
	}
	if plain < 1000 {
		t.Errorf("only %d plain addresses were tried", plain)
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	f := NewFormats()
	for s, want := range map[string]bool{
		"ana@example.com": true, "ana.maria+site@mail.example.co": true, "ANA@EXAMPLE.COM": true, "o'neil@example.com": true,
		"ana@my-firm.example": true, "ana@1and1.com": true, "\u0219tefan@example.com": true, "ana@b\u00fccher.example": true,
		strings.Repeat("x", 242) + "@example.com": true, strings.Repeat("x", 243) + "@example.com": false,
		"": false, "ana": false, "ana@": false, "@example.com": false, "ana@example": false, "ana@example..com": false, ".ana@example.com": false,
		"ana.@example.com": false, "a..na@example.com": false, "ana@.example.com": false, "ana@@example.com": false, "ana@exa mple.com": false,
		"Ana <ana@example.com>": false, "ana@example.com,ion@example.com": false, "ana@example.c0m": true, "ana@127.0.0.1": false,
	} {
		if got := f.Email(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}
