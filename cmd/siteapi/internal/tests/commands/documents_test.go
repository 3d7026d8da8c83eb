package commands

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/lead"
	"siteapi/schema/operations"
)

// Every document works wherever it is published: as a route with its example, as a
// command with each of its examples, and as a tool whose result matches its schema.
func TestEveryDocument(t *testing.T) {
	t.Parallel()
	list, err := operations.All()
	must(t, err)
	slices.SortStableFunc(list, func(a, b *operations.Operation) int { // erasures last
		return cmp.Compare(strings.Index(a.Name, "EraseLeads"), strings.Index(b.Name, "EraseLeads"))
	})

	s := apptest.NewSite(t, "ADMIN_PAGE=on", "ADMIN_TOKENS="+apptest.Owners("ana@example.com", "ben@example.com")).Start()
	id := s.Submit("ana", `"consents": [{"purpose": "marketing", "given": true}]`)
	s.Arrives(id)
	inReview := s.Submit("spam", `"website": "https://spam.example"`)
	number := fmt.Sprint(s.DeliveriesOf(id)["crm"].ID)
	known := strings.NewReplacer(
		"LR4LB5AK", lead.Reference(id),
		"4711", number,
		"lqrsz6cc4wu2hcpvga5pqfpvuz", id,
		"INREVIEW", inReview,
		"3f5a…", s.AuditHead(),
	)

	prepare := func(op *operations.Operation) {
		switch op.Name {
		case "DismissDelivery": // only a failed one can be dismissed
			s.Damage(`UPDATE deliveries SET state = 'failed' WHERE id = ` + number)
		case "ReleaseNamedLeads", "RejectNamedLeads":
			s.Damage(`UPDATE leads SET review = 1 WHERE id = '` + inReview + `'`)
		case "DeclineDeletion": // only an open request can be declined
			s.Damage(`UPDATE leads SET deletion_requested_at = 1, deletion_declined_at = 0`)
		}
	}

	dir := t.TempDir()
	visitors, operators, local := assistant(t, s, ""), assistant(t, s, config.DevAdminToken), s.Assistant(t)
	for _, op := range list {
		if op.Rest != nil {
			got := request(&s.Client, op, known)
			caching := "no-store"
			if op.Root.Definition.Directives.ForName("cacheControl") != nil {
				caching = "public, max-age=0, must-revalidate"
			}
			if got.Status != 200 || op.Rest.Produces == "" && got.Header.Get("Cache-Control") != caching {
				t.Errorf("%s as a route: %v %s", op.Name, got.Header, got)
			}
		}

		if op.Command != nil && len(op.Command.Examples) == 0 {
			t.Errorf("%s has no example", op.Command.Name)
		}
		if op.Command != nil {
			for _, example := range op.Command.Examples {
				prepare(op)
				cmd := exec.CommandContext(t.Context(), "sh", "-c", `echo ana@example.com > address.txt; `+known.Replace(example))
				cmd.Dir = dir
				cmd.Env = append(slices.Clone(s.Env), "PATH=/bin:"+filepath.Dir(apptest.Binary),
					"LISTEN_ADDR="+strings.TrimPrefix(s.Base, "http://"))
				out, err := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code == 1 && !strings.Contains(string(out), "consent was not given") || code > 2 {
					t.Errorf("%s: %v %s", example, err, out)
				}
			}
		}

		if op.Tool != nil {
			sessions := []*mcp.ClientSession{visitors}
			if op.Tool.Audience == operations.Operator {
				sessions = []*mcp.ClientSession{operators, local}
			}
			for _, session := range sessions {
				prepare(op)
				callTool(t, session, op, known)
			}
		}
	}
}

// Requests share the documents, and libraries write into the variables that they are given.
// The race detector watches while all documents run through all endpoints at once.
func TestEveryDocumentAtOnce(t *testing.T) {
	t.Parallel()
	list, err := operations.All()
	must(t, err)

	s := apptest.Start(t, "ADMIN_PAGE=on")
	known := strings.NewReplacer("lqrsz6cc4wu2hcpvga5pqfpvuz", s.Submit("ana"))
	token := "Authorization: Bearer " + config.DevAdminToken
	call := func(op *operations.Operation, arguments map[string]any) (got []apptest.Response) {
		if op.Tool != nil {
			headers := []string{"Accept: application/json, text/event-stream", token}
			if op.Tool.Audience == operations.Visitor {
				headers = headers[:1]
			}
			body, _ := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
				"params": object{"name": op.Tool.Name, "arguments": arguments}})
			got = append(got, s.Do("POST", "/mcp", string(body), headers...))
		}
		return append(got, s.Query(op.Text, op.Bind(arguments), token))
	}

	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for _, op := range list {
				arguments := argumentsOf(op, known)
				responses := call(op, arguments)
				maps.DeleteFunc(arguments, func(name string, _ any) bool { return !op.Argument(name).Required() })
				responses = append(responses, call(op, arguments)...) // with the defaults
				if op.Rest != nil {
					responses = append(responses, request(&s.Client, op, known))
				}

				for _, got := range responses {
					if got.Status == 500 || got.Has("INTERNAL") {
						t.Errorf("%s: %s", op.Name, got)
					}
				}
			}
		})
	}
	all.Wait()
}

// A destructive command asks for confirmation, and does nothing unless the answer is y.
func TestDestructiveCommandAsksFirst(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	for answer, want := range map[string]string{"n\n": "nothing was done", "y\n": "cleared"} {
		cmd := exec.CommandContext(t.Context(), apptest.Binary, "cache", "clear", "content:*", "--server", s.Base)
		cmd.Env, cmd.Stdin = s.Env, strings.NewReader(answer)
		if out, err := cmd.CombinedOutput(); (err == nil) != (want == "cleared") || !strings.Contains(string(out), want) {
			t.Errorf("answering %q: %v, %s", answer, err, out)
		}
	}
}

// assistant connects to the tools of visitors or, with a token, to those of operators.
func assistant(t *testing.T, s *apptest.Site, token string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:             s.Base + "/mcp",
		HTTPClient:           &http.Client{Transport: bearer(token)},
		DisableStandaloneSSE: true,
	}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return apptest.Unpooled.RoundTrip(r)
}

// example returns the values of the variables in the example of a document's route.
func example(op *operations.Operation, known *strings.Replacer) (values map[string]any) {
	if op.Rest != nil {
		text, _ := json.Marshal(op.Rest.ArgumentMap(nil)["example"])
		_ = json.Unmarshal([]byte(known.Replace(string(text))), &values)
	}
	return values
}

// request sends the example of a document's route.
func request(c *apptest.Client, op *operations.Operation, known *strings.Replacer) apptest.Response {
	c.T.Helper()
	token := config.DevCacheToken
	if auth := op.Root.Definition.Directives.ForName("auth"); auth != nil && auth.Arguments.ForName("token").Value.Raw == "WEBHOOK" {
		token = config.DevWebhookSecret
	}
	values, headers := example(op, known), []string{"Authorization: Bearer " + token}
	if !op.Rest.Form {
		return c.Route(op, values, headers...)
	}

	form := url.Values{}
	for name, value := range values {
		form.Set(name, fmt.Sprint(value))
	}
	headers = append(headers, "Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded")
	return c.Do(op.Rest.Method, op.Rest.Path, form.Encode(), headers...)
}

// argumentsOf returns arguments of a document: those of its route's example, and values for
// the usual names.
func argumentsOf(op *operations.Operation, known *strings.Replacer) map[string]any {
	arguments := map[string]any{
		"id": known.Replace("LR4LB5AK"), "text": "Called.", "reason": "Replaced.", "status": "CONTACTED", "owner": "ben@example.com", "locale": "es",
		"selections": object{"projectType": "web-app", "features": []any{"blog"}},
	}
	switch op.Name {
	case "RetryDelivery", "DismissDelivery":
		arguments["id"] = known.Replace("4711")
	case "ReleaseNamedLeads", "RejectNamedLeads":
		arguments["ids"] = []any{known.Replace("INREVIEW")}
	case "SubmitQuoteForVisitor":
		arguments = apptest.NewLead("assistant")
	}
	for name, value := range example(op, known) {
		if inner, isInput := value.(map[string]any); isInput && op.Argument(name) == nil {
			arguments = inner
			continue
		}
		arguments[name] = value
	}
	for name := range arguments {
		if op.Argument(name) == nil || name == "status" && op.Operation == "query" || name == "owner" && op.Operation == "query" {
			delete(arguments, name)
		}
	}
	return arguments
}

// callTool calls a tool, and validates the result against its schema.
func callTool(t *testing.T, session *mcp.ClientSession, op *operations.Operation, known *strings.Replacer) {
	t.Helper()
	arguments := argumentsOf(op, known)
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: op.Tool.Name, Arguments: arguments})
	if err != nil || got.IsError {
		text, _ := json.Marshal(got)
		t.Errorf("the tool %s with %v: %v %s", op.Tool.Name, arguments, err, text)
		return
	}
	output := op.Output()
	resolved, err := output.Resolve(nil)
	if err == nil {
		err = resolved.Validate(got.StructuredContent)
	}
	if err != nil || output.Type != "object" {
		t.Errorf("the result of the tool %s, of type %s: %v", op.Tool.Name, output.Type, err)
	}
	if absent := missing(output, got.StructuredContent); len(absent) > 0 {
		t.Errorf("the result of the tool %s lacks %v", op.Tool.Name, absent)
	}
}

// missing returns the properties of a schema that a value lacks, at any depth. The schemas of
// tools do not list the required ones: each is there, and null if it has no value.
func missing(s *jsonschema.Schema, value any) (names []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			names = append(names, missing(s.Items, item)...)
		}
	case map[string]any:
		for name, property := range s.Properties {
			inner, present := value[name]
			if !present {
				names = append(names, name)
			}
			names = append(names, missing(property, inner)...)
		}
	}
	return names
}
