package leads

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/store"
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
		"inReview": "state",
		"rejected": "state",

		"id":           "submission_id",
		"estimate.min": "estimate_min",
		"estimate.max": "estimate_max",

		"consents.purpose":     "consents",
		"consents.given":       "consents",
		"consents.text":        "consent_texts",
		"consents.siteWording": "consents",
		"consents.withdrawnAt": "consents",

		"sentEstimate.min":      "sent_estimate_min",
		"sentEstimate.max":      "sent_estimate_max",
		"sentEstimate.currency": "sent_currency",
		"price.revision":        "price_revision",
		"price.lines.field":     "price_lines",
		"price.lines.slug":      "price_lines",
		"price.lines.amount":    "price_lines",
		"price.differs":         "price_differs",

		"outcome.value":    "outcome",
		"outcome.amount":   "won_amount",
		"outcome.currency": "won_currency",
		"outcome.at":       "outcome_at",
		"outcome.by":       "outcome_by",
	}
	leadtest.Fill(new(lead.Lead), func(path string) {
		if path == "trace" || strings.HasPrefix(path, "-") {
			return // It belongs to the request, or is of operators.
		}

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
	})
}

// The rows of sessions, and of consents that have outlived their leads, have each of their
// fields: without its value they differ.
func TestRowsOfPersonAreWhole(t *testing.T) {
	t.Parallel()
	var session lead.Session
	var consent store.KeptConsent
	eachValue(reflect.ValueOf(&session).Elem(), "", setValue)
	eachValue(reflect.ValueOf(&consent).Elem(), "", setValue)
	consent.WithdrawnAt = nil

	written := func() string {
		return Person{
			Email:    "ana@example.com",
			Sessions: []lead.Session{session},
			Consents: []store.KeptConsent{consent},
		}.CSV()
	}
	whole := written()

	check := func(name string, v reflect.Value) {
		if name == "KeptConsent.Consent.WithdrawnAt" {
			return // A consent that is withdrawn once its lead is gone is deleted.
		}

		before := reflect.ValueOf(v.Interface())
		v.SetZero()
		less := written()
		v.Set(before)

		if less == whole {
			t.Errorf("person.go leaves %s out of the rows", name)
		}
	}
	eachValue(reflect.ValueOf(&session).Elem(), "Session", check)
	eachValue(reflect.ValueOf(&consent).Elem(), "KeptConsent", check)

	// A visitor who agreed to no wording has agreed, too.
	session.Hints.Consent = ""
	if table := written(); !strings.Contains(table, lead.SaveProgress+": given") {
		t.Errorf("a consent without a wording is not in the row: %s", table)
	}
}

// eachValue visits the fields of a struct, and of those in it, that are no structs themselves.
func eachValue(v reflect.Value, name string, visit func(name string, v reflect.Value)) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		visit(name, v)
		return
	}
	for field, value := range v.Fields() {
		eachValue(value, name+"."+field.Name, visit)
	}
}

// setValue gives a field a value that is not zero.
func setValue(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setValue(name, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setValue(name, v.Elem())
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
		if got := Inert(cell); got != want {
			t.Errorf("Inert(%q) = %q, want %q", cell, got, want)
		}
	}
}
