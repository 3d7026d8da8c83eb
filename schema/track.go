package schema

import (
	"encoding/json"
	"errors"
	"io"
)

// TrackQuoteInput is the state of the calculator while a visitor is choosing. It is the
// input that is read most often by far, so it reads itself, for a quarter of what the
// generated code takes to make a path for each field in case it were wrong: values
// were checked before, all at once.
type TrackQuoteInput struct {
	// SessionID is made by the client: 1 to 128 characters of A-Z a-z 0-9 . _ : -.
	SessionID string `json:"sessionId"`
	// Selections is what has been chosen so far.
	Selections *TrackSelectionsInput `json:"selections,omitempty"`
	// Estimate is the range shown to the visitor, as far as it is known.
	Estimate *TrackEstimateInput `json:"estimate,omitempty"`
	// FormData holds contact hints, as far as they are typed.
	FormData *TrackFormDataInput `json:"formData,omitempty"`
}

// UnmarshalGQL implements graphql.Unmarshaler.
func (in *TrackQuoteInput) UnmarshalGQL(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return errors.New("must be an object")
	}
	given := members(m)
	session := given.text("sessionId")
	if session == nil {
		return errors.New("sessionId must be a string")
	}
	in.SessionID = *session
	if s := given.object("selections"); s != nil {
		in.Selections = &TrackSelectionsInput{
			ProjectType: s.text("projectType"), Features: s.texts("features"),
			Complexity: s.text("complexity"), Timeline: s.text("timeline"),
		}
	}
	if e := given.object("estimate"); e != nil {
		in.Estimate = &TrackEstimateInput{Min: e.number("min"), Max: e.number("max"), Currency: e.text("currency")}
	}
	if f := given.object("formData"); f != nil {
		in.FormData = &TrackFormDataInput{Email: f.text("email"), FirstName: f.text("firstName")}
	}
	return nil
}

// MarshalGQL implements graphql.Marshaler, which gqlgen asks for beside the other. An
// input is never sent.
func (in TrackQuoteInput) MarshalGQL(w io.Writer) { _ = json.NewEncoder(w).Encode(in) }

// members are the fields of an input object. A field that is missing, null or of
// another type is nil.
type members map[string]any

func (m members) text(name string) *string {
	s, ok := m[name].(string)
	if !ok {
		return nil
	}
	return &s
}

func (m members) number(name string) *float64 {
	f, ok := number(m[name])
	if !ok {
		return nil
	}
	return &f
}

// texts returns a list of texts, in which a null is nil. A single text stands for a
// list of one.
func (m members) texts(name string) []*string {
	list, ok := m[name].([]any)
	if !ok {
		if s := m.text(name); s != nil {
			return []*string{s}
		}
		return nil
	}
	texts := make([]*string, len(list))
	for i, item := range list {
		if s, ok := item.(string); ok {
			texts[i] = &s
		}
	}
	return texts
}

func (m members) object(name string) members {
	o, _ := m[name].(map[string]any)
	return o
}
