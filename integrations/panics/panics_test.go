package panics_test

import (
	"errors"
	"strings"
	"testing"

	"siteapi/integrations/panics"
)

// describe returns the description of a panic of f.
func describe(l *panics.Log, f func()) (text string) {
	defer func() { text = l.Describe(recover()) }()
	f()
	return ""
}

// inner is a call between a panic and the function that recovers from it.
func inner(f func()) { f() }

// A panic is described by its value and its place, which follows the runtime's own calls. The
// stack is added once a minute for each place.
func TestDescribe(t *testing.T) {
	t.Parallel()
	var none map[string]int
	var missing *strings.Builder
	for name, tt := range map[string]struct {
		f    func()
		want string
	}{
		"a string":            {func() { panic("boom") }, "boom at panics/panics_test.go:"},
		"an error":            {func() { panic(errors.New("boom")) }, "boom at panics/panics_test.go:"},
		"a number":            {func() { panic(7) }, "7 at panics/panics_test.go:"},
		"nil":                 {func() { panic(nil) }, "nil argument at panics/panics_test.go:"},
		"a nil map":           {func() { none["x"] = 1 }, "assignment to entry in nil map at panics/panics_test.go:"},
		"a nil pointer":       {func() { missing.Reset() }, "nil pointer dereference at "},
		"a wrong type":        {func() { _ = any("x").(int) }, "is string, not int at panics/panics_test.go:"},
		"an index":            {func() { _ = strings.Fields(t.Name())[len(t.Name())] }, "out of range"},
		"a long text":         {func() { panic(strings.Repeat("x", 1<<20)) }, "x at panics/panics_test.go:"},
		"many calls":          {func() { deep(1000) }, "deep at panics/panics_test.go:"},
		"a repeated panic":    {func() { defer func() { panic(recover()) }(); panic("first") }, "first"},
		"a panic in deferred": {func() { defer func() { panic("second") }(); panic("first") }, "second at panics/panics_test.go:"},
	} {
		var l panics.Log
		first, second := describe(&l, func() { inner(tt.f) }), describe(&l, func() { inner(tt.f) })
		other := describe(&l, func() { panic("elsewhere") })

		if !strings.Contains(first, tt.want) || len(first) > 600 || !strings.Contains(first, " < panics/panics_test.go:") {
			t.Errorf("%s: %d bytes: %s", name, len(first), first)
		}
		if !strings.Contains(second, tt.want) || strings.Contains(second, " < ") {
			t.Errorf("%s, again: %s", name, second)
		}
		if !strings.Contains(other, " < ") {
			t.Errorf("%s, elsewhere: %s", name, other)
		}
	}
}

func deep(n int) {
	if n == 0 {
		panic("deep")
	}
	deep(n - 1)
}
