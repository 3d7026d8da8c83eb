package http

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

const asOperator = "Authorization: Bearer " + config.DevAdminToken

// problem is the text of a failed tool call.
type problem struct {
	Code      string
	RequestID string
	Errors    []struct {
		Field, Code, Message string
	}
}

// fields returns the invalid fields, each with its code.
func (p problem) fields() (list []string) {
	for _, e := range p.Errors {
		list = append(list, e.Field+" "+e.Code)
	}
	slices.Sort(list)
	return list
}

// callTool calls a tool with arguments in JSON. The problem is empty if the call succeeds.
func callTool(s *apptest.Service, name, arguments string, headers ...string) (toolResult, problem) {
	s.T.Helper()
	status, got := assistant(s, "tools/call", object{"name": name, "arguments": json.RawMessage(arguments)}, headers...)
	var p problem
	if got.IsError {
		_ = json.Unmarshal([]byte(got.Content[0].Text), &p)
	}
	if status != 200 || len(got.Content) == 0 || got.IsError == (p.Code == "") {
		s.T.Fatalf("%s with %s: %d %+v", name, arguments, status, got)
	}
	return got, p
}

// Assistants send null for what they leave out, and names that they invent. Null is the
// default. An unknown name would have no effect, which a model would not notice, so it is an
// error with the names that exist.
func TestToolArguments(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on", "TIME_ZONE=Pacific/Kiritimati", "SITE_URL=https://site.example",
		"ADMIN_TOKENS="+apptest.Owners("ana@lumen.test"))
	reference := lead.Reference(s.Submit("ana"))
	zone, err := time.LoadLocation("Pacific/Kiritimati")
	must(t, err)
	day := func(n int) string { return time.Now().In(zone).AddDate(0, 0, n).Format(time.DateOnly) }
	quote := func(changes string) string {
		return `{"sessionId":"mcp-1","contact":{"firstName":"Ana","lastName":"Pop","email":"ana.pop@example.com"},
			"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"}` + changes + `}`
	}

	for _, tt := range []struct {
		tool, arguments string
		want            []string // invalid fields; none: the call succeeds
		contains        string   // in the result
	}{
		{"leads", `{"query":"nobody"}`, []string{"query unknown_field"}, "search, email"},             // another word for search
		{"leads", `{"filter":{"status":"NEW"}}`, []string{"filter unknown_field"}, "status"},          // as other services nest it
		{"leads", `{"Search":"ana"}`, []string{"Search unknown_field"}, "search"},                     // another letter case
		{"leads", `{"query":null}`, []string{"query unknown_field"}, "search"},                        // null is no excuse
		{"leads", `{"search":"ana","first":null,"after":null,"state":null}`, nil, reference},          // strict mode of OpenAI
		{"leads", `{"":1,"first":0}`, []string{"(unprintable) unknown_field", "first below_min"}, ""}, // both are reported
		{"leads", `{"since":"` + day(0) + `","until":"` + day(0) + `"}`, nil, reference},              // a day of TIME_ZONE, until its end
		{"leads", `{"since":"` + day(1) + `"}`, nil, `"edges":[]`},
		{"leads", `{"until":"` + day(-1) + `"}`, nil, `"edges":[]`},
		{"leads", `{"since":"2026-02-30"}`, []string{"since unreadable"}, ""},
		{"deliveries", `{"state":null,"target":null}`, nil, `"edges":[`},                         // the default is a list
		{"funnel", `{"touch":null,"since":null}`, nil, `"steps":[`},                              // the default of a non-null enum
		{"set_lead_owner", `{"id":"` + reference + `","owner":null}`, nil, `"owner":null`},       // null without a default
		{"set_lead_status", `{"id":null,"status":"NEW"}`, []string{"id required"}, ""},           // null for a required one
		{"health", `{"verbose":true}`, []string{"verbose unknown_field"}, "nothing is expected"}, // there are no arguments
		{"site_settings", `null`, nil, "hello@lumen-studio.example"},
		{"content", `{"type":"heroSection"}`, []string{"type unknown_field"}, "documentType"}, // answered with prices before
		{"content", `{"documentType":null,"locale":null}`, nil, `"quoteOption"`},
		{"content", `{"first":2,"orderBy":["-price"],"offset":1}`, nil, `"total":`},
		{"content", `{"id":"heroSection-es","documentType":"heroSection","locale":"es"}`, nil, `"total":1`},
		{"content", `{"documentType":"siteSettings"}`, []string{"documentType not_allowed"}, ""},
		{"owners", `{}`, nil, `{"result":["ana@lumen.test"]}`},
		{"lead", `{"id":"` + reference + `"}`, nil, "https://site.example/api/quote/page?id="},
		{"reject_leads", `{"ids":["` + reference + `","LR4LB5AK"]}`, nil, `"reason":"NOT_FOUND"`},
		{"reject_leads", `{}`, []string{"ids required"}, ""},
		{"release_leads", `{"ids":null}`, []string{"ids required"}, ""},
		{"release_leads", `{"all":true}`, []string{"all unknown_field", "ids required"}, "expected ids"}, // of every lead only a person decides
		{"content", `{"documentType":"heroSection","toolCallId":"call_1"}`, nil, `"heroSection"`},        // n8n before 2.2.5
		{"estimate_quote", `{"selections":{"projectType":"web-app","color":"red"}}`,
			[]string{"selections.color unknown_field"}, "projectType, features"},
		{"estimate_quote", `{"selections":{"projectType":"web-app","features":null},"locale":null}`, nil, `"min":12000`},
		{"estimate_quote", `{"projectType":"web-app"}`, []string{"projectType unknown_field", "selections required"}, ""},
		{"submit_quote", quote(`,"company":"ACME"`), []string{"company unknown_field"}, "sessionId, contact"},
		{"submit_quote", quote(`,"website":"https://acme.example","challengeToken":"x"`), // the first looks like spam
			[]string{"challengeToken unknown_field", "website unknown_field"}, ""},
		{"submit_quote", quote(`,"consents":[{"purpose":"marketing","given":true,"wording":"Yes"}]`),
			[]string{"consents[0].wording unknown_field"}, "purpose, given, text"},
		{"submit_quote", `[1]`, nil, "must be a JSON object"},
		{"submit_quote", `{"input":{}}`, []string{
			"contact.email required", "contact.firstName required", "contact.lastName required", "estimate.currency required",
			"estimate.max required", "estimate.min required", "input unknown_field", "selections.projectType required",
			"sessionId required",
		}, ""},
		{"submit_quote", quote(`,"message":null,"attribution":{"source":"x","medium":null},"consents":null`), nil, `"success":true`},
	} {
		var headers []string
		if !slices.Contains(visitorTools, tt.tool) {
			headers = []string{asOperator}
		}
		got, failure := callTool(s, tt.tool, tt.arguments, headers...)
		if text := got.Content[0].Text; !slices.Equal(failure.fields(), tt.want) || !strings.Contains(text, tt.contains) {
			t.Errorf("%s with %s:\n%s\nwant %v and %s", tt.tool, tt.arguments, text, tt.want, tt.contains)
		}
		for _, e := range failure.Errors {
			if strings.Contains(e.Message, "website") {
				t.Errorf("%s with %s: the honeypot is offered: %+v", tt.tool, tt.arguments, e)
			}
		}
	}

	many := `{"search":""`
	for i := range 3000 {
		many += fmt.Sprintf(`,"a%d":1`, i)
	}
	if _, failure := callTool(s, "leads", many+"}", asOperator); len(failure.Errors) != 20 {
		t.Errorf("thousands of unknown arguments: %d errors", len(failure.Errors))
	}
}

// A tool that is given a lead or a delivery that does not exist says so: an empty result
// would be read as "nothing happened to this lead".
func TestToolsWithUnknownLeads(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on")
	id := s.Submit("ana")
	known, ids := lead.Reference(id), map[string]bool{}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("%0110d", i))
	}

	for _, tt := range []struct{ tool, arguments string }{
		{"lead", `{"id":"LR4LB5AK"}`},
		{"lead", `{"id":"` + known[:7] + `"}`},     // a part of a reference
		{"lead", `{"id":"nobody@example.com"}`},    // an address without a lead
		{"lead", `{"id":"` + known + known + `"}`}, // too long
		{"deliveries", `{"lead":"LR4LB5AK"}`},      // was an empty list
		{"deliveries", `{"lead":"1","state":null}`},
		{"retry_delivery", `{"id":"999999"}`},
		{"retry_delivery", `{"id":"` + known + `"}`}, // a lead is no delivery
		{"add_lead_note", `{"id":"LR4LB5AK","text":"Called."}`},
	} {
		_, failure := callTool(s, tt.tool, tt.arguments, asOperator)
		if failure.Code != "NOT_FOUND" || failure.RequestID == "" || ids[failure.RequestID] {
			t.Errorf("%s with %s: %+v", tt.tool, tt.arguments, failure)
		}
		ids[failure.RequestID] = true
	}

	// Changes of leads name those that failed. They are errors only if all failed.
	review := lead.Reference(s.Submit("review", `"website": "https://spam.example"`))
	const unknown, alike = `{"lead":"LR4LB5AK","reason":"NOT_FOUND"}`, `{"lead":"LR4LB5AJ","reason":"NOT_FOUND"}`
	for _, tt := range []struct{ tool, arguments, code, want string }{
		{"set_lead_status", `{"id":"LR4LB5AK","status":"CLOSED"}`, "NOT_FOUND", `"failed":[` + unknown + `]`},
		{"set_lead_owner", `{"id":"LR4LB5AK"}`, "NOT_FOUND", `"failed":[` + unknown + `]`},
		{"set_lead_status", `{"id":"` + known + `","status":"CLOSED"}`, "", `"changed":1,`},
		{"set_lead_status", `{"id":"` + known + `","status":"CLOSED"}`, "", `"changed":0,`}, // needs no change
		{"release_leads", `{"ids":["LR4LB5AK","LR4LB5AJ"]}`, "NOT_FOUND", `"failed":[` + unknown + `,` + alike + `]`},
		{"release_leads", `{"ids":["` + known + `","LR4LB5AK"]}`, "NOT_FOUND", `{"lead":"` + known + `","reason":"NOT_IN_REVIEW"}`},
		{"release_leads", `{"ids":["` + known + `"]}`, "BAD_USER_INPUT", `{"lead":"` + known + `","reason":"NOT_IN_REVIEW"}`},
		{"reject_leads", `{"ids":["` + review + `","LR4LB5AK"]}`, "", `{"changed":1,"failed":[` + unknown + `]}`},
		{"release_leads", `{"ids":["` + review + `"]}`, "", `{"changed":1,"failed":[]}`},
		{"release_leads", `{"ids":[]}`, "", `{"changed":0,"failed":[]}`},
		{"release_leads", `{"ids":["` + strings.Join(many, `","`) + `"]}`, "NOT_FOUND", `"cut":["`}, // 60 KB
	} {
		got, failure := callTool(s, tt.tool, tt.arguments, asOperator)
		if text := got.Content[0].Text; failure.Code != tt.code || !strings.Contains(text, tt.want) || len(text) > 60_000 {
			t.Errorf("%s with %.99s: %.999s\nwant %q %s", tt.tool, tt.arguments, text, tt.code, tt.want)
		}
	}

	for _, name := range []string{known, strings.ToLower(known), id} {
		got, _ := callTool(s, "lead", `{"id":"`+name+`"}`, asOperator)
		if !strings.Contains(got.Content[0].Text, "ana@example.com") {
			t.Errorf("the lead %s: %+v", name, got)
		}
	}
}

// The strictest clients drop a tool, or the whole server, because of a keyword that they do
// not know in an input schema. Every list that a model reads costs it tokens, about one for
// four bytes.
func TestToolSchemas(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on")
	locales, _ := json.Marshal(schema.AllLocale) // cannot fail: a list of strings

	for _, tt := range []struct {
		caller []string
		tokens int
		inputs map[string]string // JSON at a path of the input schemas; empty: nothing
	}{
		{nil, 3000, map[string]string{
			"content.properties.locale.enum":                                    string(locales), // was a reference
			"content.properties.documentType.default":                           `"quoteOption"`,
			"content.properties.slug.type":                                      `"string"`, // was a list with "null"
			"content.properties.documentType.enum":                              `["heroSection","quoteOption","consentText"]`,
			"content.properties.documentType.description":                       `"Type of the documents. For the calculator's choices use quote_options."`,
			"content.properties.documentType.maxLength":                         ``,
			"content.properties.first.default":                                  `10`,
			"content.required":                                                  ``,
			"estimate_quote.properties.selections.type":                         `"object"`, // a bare reference was sent as text
			"estimate_quote.properties.selections.properties.features.type":     `"array"`,
			"estimate_quote.required":                                           `["selections"]`,
			"site_settings.properties.locale.type":                              `"string"`,
			"site_settings.additionalProperties":                                `false`,
			"submit_quote.properties.contact.additionalProperties":              `false`,
			"submit_quote.properties.contact.properties.email.format":           ``, // a format that some do not know
			"submit_quote.properties.consents.items.required":                   `["purpose","given"]`,
			"submit_quote.properties.consents.items.additionalProperties":       `false`,
			"submit_quote.properties.website":                                   ``,
			"submit_quote.properties.challengeToken":                            ``,
			"submit_quote.properties.attribution.properties.source.type":        `"string"`,
			"submit_quote.properties.selections.properties.features.items.type": `"string"`,
			"submit_quote.properties.selections.properties.timeline":            `{"type":"string","description":"Timeline, a slug such as ` + "`3-months`" + `."}`,
			"submit_quote.properties.sessionId.pattern":                         `"^[A-Za-z0-9._:-]{1,128}$"`,
			"submit_quote.properties.sessionId.minLength":                       ``, // the pattern says it
		}},
		{[]string{asOperator}, 7500, map[string]string{
			"leads.properties.status.enum":     `["NEW","CONTACTED","WAITING","CLOSED"]`,
			"leads.properties.first.type":      `"integer"`,
			"leads.properties.first.format":    ``,
			"leads.required":                   ``,
			"leads.properties.since.format":    ``, // a day is no date-time
			"deliveries.properties.state.type": `"array"`,
			"deliveries.properties.lead.type":  `"string"`,
			"set_lead_owner.required":          `["id"]`,
			"set_lead_owner.properties.owner":  `{"type":"string","description":"Address of an operator, in any letter case; left out: the lead is unassigned.","maxLength":254}`,
			"set_lead_owner.properties.id":     `{"type":"string","description":"Id of the lead, its PDF reference, or its e-mail address.","minLength":1,"maxLength":254}`,
			"set_lead_status.required":         `["id","status"]`,
			"set_lead_status.properties.id":    `{"type":"string","description":"Id of the lead, its PDF reference, or its e-mail address.","minLength":1,"maxLength":254}`,
			"release_leads.required":           `["ids"]`,
			"reject_leads.required":            `["ids"]`,
			"health.properties":                `{}`, // some clients require the keyword
			"funnel.properties.touch.default":  `"LAST"`,
			"lead.properties.id.maxLength":     `254`,
			"retry_delivery.properties.id":     `{"type":"string","description":"Id of the delivery.","minLength":1,"maxLength":20}`,
		}},
	} {
		list := s.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			append(tt.caller, "Accept: application/json, text/event-stream")...)
		if tokens := len(list.Body) / 4; tokens > tt.tokens {
			t.Errorf("the list has %d tokens, want at most %d", tokens, tt.tokens)
		}

		var got struct {
			Result struct {
				Tools []struct {
					Name                      string
					InputSchema, OutputSchema map[string]any
				}
			}
		}
		if err := json.Unmarshal(list.Body, &got); err != nil || len(got.Result.Tools) < 4 {
			t.Fatalf("%s: %v", list.Body, err)
		}
		inputs := map[string]any{}
		for _, tool := range got.Result.Tools {
			inputs[tool.Name] = tool.InputSchema
			checkSchema(t, tool.Name, tool.InputSchema)
			if text, _ := json.Marshal(tool.OutputSchema); strings.Contains(string(text), `"description":"`) || strings.Contains(string(text), "{}") {
				t.Errorf("the output of %s is described in words, or has a value of any type: %s", tool.Name, text)
			}
		}
		for path, want := range tt.inputs {
			var at any = inputs
			for name := range strings.SplitSeq(path, ".") {
				object, _ := at.(map[string]any)
				at = object[name]
			}
			var wanted any
			_ = json.Unmarshal([]byte(want), &wanted)
			if !reflect.DeepEqual(at, wanted) {
				t.Errorf("%s: %v, want %s", path, at, want)
			}
		}
	}
}

// checkSchema checks that an input schema, and each one in it, has only keywords that all
// clients support.
func checkSchema(t *testing.T, path string, s map[string]any) {
	t.Helper()
	plain := []string{
		"type", "description", "enum", "default", "properties", "required", "items", "additionalProperties",
		"minLength", "maxLength", "minimum", "maximum", "pattern",
	}
	for keyword, value := range s {
		if !slices.Contains(plain, keyword) && !(keyword == "format" && value == "date-time") {
			t.Errorf("%s has the keyword %s", path, keyword)
		}
	}
	if _, isText := s["type"].(string); !isText {
		t.Errorf("%s has the type %v", path, s["type"])
	}
	if s["type"] == "object" && s["additionalProperties"] != false {
		t.Errorf("%s takes unknown properties", path)
	}

	if items, ok := s["items"].(map[string]any); ok {
		checkSchema(t, path+"[]", items)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		below, _ := property.(map[string]any)
		checkSchema(t, path+"."+name, below)
	}
}
