package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestInvalidInputHasAShortAnswer: at most 20 invalid fields are reported, through both endpoints, however many there are.
func TestInvalidInputHasAShortAnswer(t *testing.T) {
	t.Parallel()
	service := launch(t, t.TempDir())
	features := func(n int) string { return `[` + strings.Repeat(`"",`, n) + `""]` }
	selections := `{sessionId: "s", contact: {}, estimate: {}, selections: {projectType: "web-app", features: $f}}`
	query := `mutation($f: [String!]) {`
	for _, alias := range []string{"a", "b", "c", "d"} {
		query += alias + `: submitQuote(input: ` + selections + `) { success } `
	}
	document, err := json.Marshal(query + "}")
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []struct {
		path, body string
		fields     int // 0: refused as too large for its length
	}{
		{"/graphql", `{"query":` + string(document) + `,"variables":{"f":` + features(300) + `}}`, 20},
		{"/graphql", `{"query":` + string(document) + `,"variables":{"f":` + features(21_000) + `}}`, 0},
		{"/api/quote/submit", `{"sessionId":"s","selections":{"features":` + features(300) + `}}`, 20},
		{"/api/quote/submit", `{"sessionId":"s","selections":{"features":` + features(15_000) + `}}`, 0},
	} {
		answer := service.do(http.MethodPost, request.path, request.body).body
		if got := strings.Count(string(answer), `"field":`); got != request.fields || len(answer) > 4000 {
			t.Errorf("%s: %d fields in %d bytes: %.300s", request.path, got, len(answer), answer)
		}
		if first := `{"field":"contact.firstName","code":"required","message":"is required"}`; request.fields > 0 &&
			!strings.Contains(string(answer), first) {
			t.Errorf("%s: %.300s", request.path, answer)
		}
	}
}
