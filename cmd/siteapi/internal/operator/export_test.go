package operator

import "testing"

// No cell of an export begins a formula in a spreadsheet, whatever separates cells there.
func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "Ana": "Ana", "a+b@c.d": "a+b@c.d", "web-app": "web-app", "a = b": "a = b",
		"=1+1": "'=1+1", "+40": "'+40", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "==1": "'==1", "＝1": "'＝1",
		"  =1": "  '=1", "\t=1": "\t'=1", "\"=1": "\"'=1", "\u00a0=1": "\u00a0'=1",
		"a;=1": "a;'=1", "a; \"=1": "a; \"'=1", "a\r\n=1": "a\r\n'=1", "a,@b": "a,'@b", "a|+1": "a|'+1", "Ș-a;-b;c-d;＠": "Ș-a;'-b;c-d;'＠",
	} {
		if got := inert(cell); got != want {
			t.Errorf("inert(%q) = %q, want %q", cell, got, want)
		}
	}
}
