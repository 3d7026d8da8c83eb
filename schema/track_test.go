package schema

import (
	"encoding/json"
	"testing"
)

func TestTrackQuoteInputReadsItself(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"everything", `{"sessionId":"s","selections":{"projectType":"web-app","features":["a","b"],"complexity":"low","timeline":"soon"},
			"estimate":{"min":1,"max":2.5,"currency":"EUR"},"formData":{"email":"a@b.co","firstName":"Ana"}}`,
			`{"sessionId":"s","selections":{"projectType":"web-app","features":["a","b"],"complexity":"low","timeline":"soon"},"estimate":{"min":1,"max":2.5,"currency":"EUR"},"formData":{"email":"a@b.co","firstName":"Ana"}}`},
		{"the session alone", `{"sessionId":"s"}`, `{"sessionId":"s"}`},
		{"nulls", `{"sessionId":"s","selections":null,"estimate":{"min":null},"formData":{"email":null}}`, `{"sessionId":"s","estimate":{},"formData":{}}`},
		{"a null in a list", `{"sessionId":"s","selections":{"features":["a",null]}}`, `{"sessionId":"s","selections":{"features":["a",null]}}`},
		{"one text for a list", `{"sessionId":"s","selections":{"features":"a"}}`, `{"sessionId":"s","selections":{"features":["a"]}}`},
		{"other types", `{"sessionId":"s","selections":{"projectType":7,"features":[7]},"estimate":{"min":"1"},"formData":[]}`, `{"sessionId":"s","selections":{"features":[null]},"estimate":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v any
			if err := json.Unmarshal([]byte(tt.body), &v); err != nil {
				t.Fatal(err)
			}
			var in TrackQuoteInput
			if err := in.UnmarshalGQL(v); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(in)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	for _, v := range []any{nil, "text", map[string]any{}, map[string]any{"sessionId": 7.0}} {
		if err := new(TrackQuoteInput).UnmarshalGQL(v); err == nil {
			t.Errorf("%v was taken", v)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	f := NewFormats()
	long := string(make([]byte, 0, 65))
	for range 64 {
		long += "a"
	}
	for s, want := range map[string]bool{
		"a": true, "web-app": true, "a_b-c": true, "1-3-months": true, "0": true, long: true,
		"": false, "-": false, "a-": false, "-a": false, "a--b": false, "a-_b": false, "A": false, "é": false, "a b": false, "a\x00": false, long + "a": false,
	} {
		if got := f.Slug(s); got != want {
			t.Errorf("%q: got %v", s, got)
		}
	}
}
