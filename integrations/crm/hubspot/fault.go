package hubspot

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// codeUnknown is HubSpot's code for a property that the account does not have.
const codeUnknown = "PROPERTY_DOESNT_EXIST"

// unknownName finds the property in HubSpot's sentence about one it does not have.
var unknownName = regexp.MustCompile(`Property \\*["']([a-zA-Z0-9_]+)\\*["'] does not exist`)

// faultsOf returns the properties that HubSpot refused, with its code for each; none
// where the answer is about anything else or where the address is among them, since
// without that there is no contact.
func faultsOf(resp *upstream.Response, sent map[string]string) map[string]string {
	if resp.Status != http.StatusBadRequest && resp.Status != http.StatusUnprocessableEntity {
		return nil
	}
	found := map[string]string{}
	var body any
	if json.Unmarshal(resp.Body, &body) == nil {
		collect(body, found)
	}
	for _, m := range unknownName.FindAllSubmatch(resp.Body, -1) {
		found[string(m[1])] = codeUnknown
	}
	faults := map[string]string{}
	for name, code := range found {
		if _, ok := sent[name]; ok {
			faults[name] = code
		}
	}
	if _, ok := faults[crm.PropEmail]; ok {
		return nil
	}
	if len(faults) == 0 && strings.Contains(string(resp.Body), codeUnknown) {
		// It does not say which: any of those that no account has from the start.
		for _, name := range crm.QuoteProperties() {
			if _, ok := sent[name]; ok {
				faults[name] = codeUnknown
			}
		}
	}
	return faults
}

// collect walks through an error of any shape and picks up what names a property and
// a code. HubSpot puts the list of faults into the text of the message as often as
// beside it.
func collect(v any, found map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		if name, code := faultName(v), codeIn(v, "error", "code"); name != "" && code != "" {
			found[name] = code
		}
		for _, inner := range v {
			collect(inner, found)
		}
	case []any:
		for _, inner := range v {
			collect(inner, found)
		}
	case string:
		start := strings.IndexAny(v, "[{")
		if start < 0 {
			return
		}
		var inner any
		if json.NewDecoder(strings.NewReader(v[start:])).Decode(&inner) == nil {
			collect(inner, found)
		}
	}
}

// faultName returns the property that an object of an error is about.
func faultName(fault map[string]any) string {
	if context, ok := fault["context"].(map[string]any); ok {
		if name := first(context["propertyName"]); name != "" {
			return name
		}
	}
	for _, key := range []string{"name", "propertyName", "in"} {
		if name := first(fault[key]); name != "" {
			return name
		}
	}
	return ""
}

// codeIn returns the first of several keys that holds one of HubSpot's codes.
func codeIn(fault map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := fault[key].(string); ok && code.MatchString(s) {
			return s
		}
	}
	return ""
}

// first returns a string, or the first one of a list.
func first(v any) string {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	s, _ := v.(string)
	return s
}
