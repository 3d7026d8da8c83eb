package font_test

import (
	"testing"

	"siteapi/integrations/pdf/font"
)

func TestLatinHasTheLettersOfTheSite(t *testing.T) {
	t.Parallel()
	family, err := font.Latin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range "AZaz09 ăâîșțĂÂÎȘȚ áéíóúüñ¿¡ÁÉÍÓÚÜÑ €£¥$ “”„‟‘’«»–—…•· ßøåæœłžčřđőű ẞ№™□" {
		if !family.Has(r) {
			t.Errorf("the cut has no %q (U+%04X)", r, r)
		}
	}
	for _, r := range "\n\u200b\u202eאЯΩ中🚀" {
		if family.Has(r) {
			t.Errorf("the cut has U+%04X", r)
		}
	}
	if family.Regular.Width("W") <= family.Regular.Width("i") {
		t.Error("a W is no wider than an i")
	}
}

func TestWideAddsOtherAlphabets(t *testing.T) {
	t.Parallel()
	family, err := font.Wide()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range "Юлия Ωμέγα שלום ș" {
		if !family.Has(r) {
			t.Errorf("the cut has no %q (U+%04X)", r, r)
		}
	}
}

func TestCutIsMuchSmallerThanTheFont(t *testing.T) {
	t.Parallel()
	family, err := font.Latin()
	if err != nil {
		t.Fatal(err)
	}
	regular, bold := font.Full()
	if got, full := len(family.Regular.TTF), len(regular); got > full/3 {
		t.Errorf("the regular cut has %d bytes of %d", got, full)
	}
	if got, full := len(family.Bold.TTF), len(bold); got > full/3 {
		t.Errorf("the bold cut has %d bytes of %d", got, full)
	}
}

func BenchmarkLatin(b *testing.B) {
	for b.Loop() {
		if _, err := font.Latin(); err != nil {
			b.Fatal(err)
		}
	}
}
