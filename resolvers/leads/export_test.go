package leads

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"unicode"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
)

// An export has a column for every field of a lead.
func TestColumnsOfExport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := NewTable(&out, true).Leads([]lead.Lead{*leadtest.Filled()}); err != nil {
		t.Fatal(err)
	}

	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out.Bytes(), []byte("\ufeff")))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}

	renamed := map[string]string{
		"id":           "submission_id",
		"estimate.min": "estimate_min",
		"estimate.max": "estimate_max",

		"consents.purpose":     "consents",
		"consents.given":       "consents",
		"consents.text":        "consent_texts",
		"consents.siteWording": "consents",
		"consents.withdrawnAt": "consents",

		"outcome.value":    "outcome",
		"outcome.amount":   "won_amount",
		"outcome.currency": "won_currency",
		"outcome.at":       "outcome_at",
		"outcome.by":       "outcome_by",
	}
	for _, path := range leadtest.OperatorFields() {
		column, ok := renamed[path]
		if !ok {
			var name strings.Builder
			for _, r := range path[strings.LastIndex(path, ".")+1:] {
				if unicode.IsUpper(r) {
					name.WriteByte('_')
				}
				name.WriteRune(unicode.ToLower(r))
			}
			column = name.String()
			if strings.HasPrefix(path, "firstAttribution") {
				column = "first_" + column
			}
		}

		if i := slices.Index(rows[0], column); i < 0 || rows[1][i] == "" {
			t.Errorf("columns in export.go: the field %s has no column %s, or an empty cell there",
				path, column)
		}
	}
}

// No cell of an export begins a formula in a spreadsheet, whatever separates cells there.
func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":             "",
		"Ana":          "Ana",
		"a+b@c.d":      "a+b@c.d",
		"web-app":      "web-app",
		"a = b":        "a = b",
		"=1+1":         "'=1+1",
		"+40":          "'+40",
		"-1":           "'-1",
		"@SUM(A1)":     "'@SUM(A1)",
		"==1":          "'==1",
		"＝1":           "'＝1",
		"  =1":         "  '=1",
		"\t=1":         "\t'=1",
		"\"=1":         "\"'=1",
		"\u00a0=1":     "\u00a0'=1",
		"a;=1":         "a;'=1",
		"a; \"=1":      "a; \"'=1",
		"a\r\n=1":      "a\r\n'=1",
		"a,@b":         "a,'@b",
		"a|+1":         "a|'+1",
		"Ș-a;-b;c-d;＠": "Ș-a;'-b;c-d;'＠",
	} {
		if got := inert(cell); got != want {
			t.Errorf("inert(%q) = %q, want %q", cell, got, want)
		}
	}
}
