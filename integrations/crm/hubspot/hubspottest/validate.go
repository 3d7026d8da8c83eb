package hubspottest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decimal is a number as HubSpot takes it here: without an exponent.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// accepted reads the properties of a request, or returns the answer that refuses them.
func (s *Server) accepted(body []byte) (map[string]string, *answer) {
	var in struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Properties == nil {
		a := s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON: properties are required")
		return nil, &a
	}
	props := map[string]string{}
	var faults []invalid
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		value, ok := in.Properties[name].(string)
		if !ok {
			a := s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", fmt.Sprintf("Invalid input JSON: value of %q is not a string", name))
			return nil, &a
		}
		stored, code, message := s.check(name, value)
		if code != "" {
			faults = append(faults, invalid{Message: message, Error: code, Name: name, Localized: message})
			continue
		}
		props[name] = stored
	}
	if len(faults) > 0 {
		a := s.invalidProperties(faults)
		return nil, &a
	}
	return props, nil
}

// check returns a value as it is stored, or HubSpot's code and words against it.
func (s *Server) check(name, value string) (stored, code, message string) {
	def, ok := s.account.defs[name]
	switch {
	case !ok:
		return "", "PROPERTY_DOESNT_EXIST", fmt.Sprintf("Property %q does not exist", name)
	case def.readOnly:
		return "", "READ_ONLY_VALUE", fmt.Sprintf("%q is a read only property; its value cannot be set.", name)
	case value == "":
		return "", "", ""
	case name == "email" && !validEmail(value):
		return "", "INVALID_EMAIL", fmt.Sprintf("Email address %s is invalid", value)
	}
	switch def.Type {
	case "number":
		if !decimal.MatchString(value) {
			return "", "INVALID_DOUBLE", fmt.Sprintf("%s was not a valid number.", value)
		}
	case "datetime":
		t, err := parseTime(value)
		if err != nil {
			return "", "INVALID_DATE", fmt.Sprintf("%s was not a valid date.", value)
		}
		return t.UTC().Format(time.RFC3339Nano), "", "" // whole seconds come back without a fraction
	case "enumeration":
		for part := range strings.SplitSeq(value, ";") {
			if !slices.ContainsFunc(def.Options, func(o option) bool { return o.Value == part }) {
				return "", "INVALID_OPTION", fmt.Sprintf("%s was not one of the allowed options", part)
			}
		}
	}
	return value, "", ""
}

func validEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && strings.Contains(s[strings.LastIndex(s, "@"):], ".")
}

func parseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, s)
}
