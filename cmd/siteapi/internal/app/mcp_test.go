package app

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"siteapi/cmd/siteapi/internal/config"
)

// toolResult is what a call of a tool gives.
type toolResult struct {
	IsError           bool
	StructuredContent map[string]any
	Content           []struct{ Text string }
	Tools             []struct {
		Name        string
		Description string
		Annotations struct{ ReadOnlyHint, DestructiveHint, IdempotentHint bool }
	}
}

// assistant sends a request as an assistant's client does.
func (s *service) assistant(method string, params any, headers ...string) (int, toolResult) {
	s.t.Helper()
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}

	got := s.do(http.MethodPost, "/mcp", string(body),
		append(headers, "Accept: application/json, text/event-stream")...)
	var answer struct{ Result toolResult }
	_ = json.Unmarshal(got.body, &answer)
	return got.status, answer.Result
}

// tools returns the names of the tools that a caller is offered.
func (s *service) tools(headers ...string) (names []string) {
	s.t.Helper()
	_, list := s.assistant("tools/list", object{}, headers...)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// An assistant prices a project and asks for a quote for its user, by the rules of the routes.
func TestAssistantAsksForAQuote(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	call := func(name string, arguments object) toolResult {
		_, got := s.assistant("tools/call", object{"name": name, "arguments": arguments})
		return got
	}

	estimate := call("estimate_quote", object{"selections": object{"projectType": "web-app"}, "locale": "es"})
	if estimate.IsError || estimate.StructuredContent["min"] != 12000.0 {
		t.Errorf("the estimate: %+v", estimate)
	}
	settings := call("site_settings", nil).StructuredContent["result"]
	if text, _ := json.Marshal(settings); !strings.Contains(string(text), "hello@lumen-studio.example") {
		t.Errorf("the settings: %s", text)
	}
	choices, _ := call("content", object{"documentType": "quoteOption", "locale": "es"}).StructuredContent["result"].([]any)
	if len(choices) == 0 {
		t.Error("there are no choices")
	}

	refused := call("submit_quote", object{"sessionId": "mcp", "contact": object{"email": "half@"}})
	if !refused.IsError || !strings.Contains(refused.Content[0].Text, `"code":"BAD_USER_INPUT"`) ||
		!strings.Contains(refused.Content[0].Text, `"field":"contact.lastName"`) {
		t.Errorf("an incomplete lead: %+v", refused)
	}
	if got := call("submit_quote", object{"sessionId": 1, "contact": []int{2}}); !got.IsError {
		t.Errorf("wrong types: %+v", got)
	}

	for session, want := range map[string]string{"none": "mcp", "named": "partner"} {
		lead := newLead(session)
		if session == "named" {
			lead["attribution"] = object{"medium": "partner"}
		}
		got := call("submit_quote", lead)
		id, _ := got.StructuredContent["submissionId"].(string)
		if id == "" || call("submit_quote", lead).StructuredContent["submissionId"] != id {
			t.Fatalf("submitting, twice: %+v", got)
		}
		stored, err := s.app.data.Quotes.Lead(t.Context(), id)
		if err != nil || stored.Attribution.Medium != want {
			t.Errorf("%s: the lead came by %q, want %q: %v", session, stored.Attribution.Medium, want, err)
		}
	}
}

// What an assistant is offered depends on where it asks, and as whom.
func TestToolsByCaller(t *testing.T) {
	t.Parallel()
	visitors := []string{"content", "estimate_quote", "site_settings", "submit_quote"}
	token := "Authorization: Bearer " + config.DevAdminToken

	s := startService(t, nil)
	if got := s.tools(token); !slices.Equal(got, visitors) {
		t.Errorf("operators' tools are at the public address: %v", got)
	}
	s.do(http.MethodGet, "/mcp", "")
	for origin, want := range map[string]int{
		s.base:                     http.StatusOK,
		"http://evil.example":      http.StatusForbidden,
		"null":                     http.StatusForbidden,
		"http://127.0.0.1.evil.me": http.StatusForbidden,
	} {
		if status, _ := s.assistant("tools/list", object{}, "Origin: "+origin); status != want {
			t.Errorf("a page of %s: %d, want %d", origin, status, want)
		}
	}

	s = startService(t, map[string]string{"TURNSTILE_SECRET": "1x0000000000000000000000000000000AA"})
	if got := s.tools(); slices.Contains(got, "submit_quote") {
		t.Errorf("behind a bot check: %v", got)
	}

	s = startService(t, map[string]string{"MCP": "off"})
	if got := s.do(http.MethodPost, "/mcp", `{}`); got.status != http.StatusNotFound {
		t.Errorf("switched off: %d", got.status)
	}

	s = startService(t, map[string]string{"ADMIN_PAGE": "on"})
	if status, _ := s.assistant("tools/list", object{}, "Authorization: Bearer wrong"); status != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %d", status)
	}
	got := s.tools(token)
	if len(got) == 0 || slices.Contains(got, "submit_quote") {
		t.Errorf("with a token: %v", got)
	}
	for _, name := range got {
		if strings.Contains(name, "erase") || strings.Contains(name, "export") {
			t.Errorf("an assistant may %s", name)
		}
	}
}

// On this machine an assistant works on the database without a token, as the user of the machine.
func TestToolsOverStandardInput(t *testing.T) {
	t.Parallel()
	s := newSite(t).start()
	id := s.submit("stdio")

	cmd := exec.CommandContext(t.Context(), binary, "mcp")
	cmd.Env = s.env
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name:      "add_lead_note",
		Arguments: object{"id": id, "text": "Called back."},
	})
	if err != nil || got.IsError {
		t.Fatalf("adding a note: %v %+v", err, got)
	}
	s.says(
		said{args: "leads show " + id, want: []string{"Called back."}},
		said{args: "audit list", want: []string{"command:"}},
	)
}
