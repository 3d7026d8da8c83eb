package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

// visitorTools are the tools that visitors are offered.
var visitorTools = []string{"content", "estimate_quote", "quote_options", "site_settings", "submit_quote"}

// toolResult is the result of a tool call, of tools/list or of initialize.
type toolResult struct {
	Instructions      string
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
func assistant(s *apptest.Service, method string, params any, headers ...string) (int, toolResult) {
	s.T.Helper()
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	must(s.T, err)

	got := s.Do("POST", "/mcp", string(body),
		append(headers, "Accept: application/json, text/event-stream")...)
	var response struct{ Result toolResult }
	_ = json.Unmarshal(got.Body, &response)
	return got.Status, response.Result
}

// tools returns the names of the tools that are offered to a caller.
func tools(s *apptest.Service, headers ...string) (names []string) {
	s.T.Helper()
	_, list := assistant(s, "tools/list", object{}, headers...)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A lead that an assistant submits names its medium, and a repetition is the same lead.
func TestAssistantSubmitsALead(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for change, medium := range map[string]string{
		"":                                     "mcp",
		`"attribution": {"medium": " "}`:       "mcp",
		`"attribution": {"medium": "partner"}`: "partner",
	} {
		lead, _ := json.Marshal(apptest.NewLead(fmt.Sprint("assistant-", len(change)), change))
		got, _ := callTool(s, "submit_quote", string(lead))
		again, _ := callTool(s, "submit_quote", string(lead))
		id := fmt.Sprint(got.StructuredContent["submissionId"])
		stored, err := s.App.Data.Store.Lead(t.Context(), id)
		if err != nil || stored.Attribution.Medium != medium || again.StructuredContent["submissionId"] != id {
			t.Errorf("the medium of the lead is %q, want %q, and again %v: %v", stored.Attribution.Medium, medium, again, err)
		}
	}
}

// The tools that are offered to an assistant depend on the address and the caller.
func TestToolsByCaller(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	if got := tools(s); !slices.Equal(got, visitorTools) {
		t.Errorf("a visitor is offered %v, want %v", got, visitorTools)
	}
	client := object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "test", "version": "1"},
	}
	if _, got := assistant(s, "initialize", client); !strings.Contains(got.Instructions, "the choices with the tool quote_options") {
		t.Errorf("a visitor's assistant is told: %q", got.Instructions)
	}
	if status, got := assistant(s, "tools/list", object{}, asOperator); status != 401 || len(got.Tools) > 0 {
		t.Errorf("with an operator's token at the public address: %d %v", status, got)
	}
	s.Do("GET", "/mcp", "")
	for origin, want := range map[string]int{
		s.Base:                     200,
		"http://evil.example":      403,
		"http://127.0.0.1.evil.me": 403,
	} {
		if status, _ := assistant(s, "tools/list", object{}, "Origin: "+origin); status != want {
			t.Errorf("a page from %s: %d, want %d", origin, status, want)
		}
	}

	// The pages of a site have its origin, also if SITE_URL has a path.
	s = apptest.Start(t, "SITE_URL=https://site.example/backend")
	for origin, want := range map[string]int{
		"https://site.example":      200,
		"https://site.exam":         403,
		"https://site.example.evil": 403,
		"https://site.example:444":  403,
		"http://site.example":       403,
		"null":                      403,
	} {
		if status, _ := assistant(s, "tools/list", object{}, "Origin: "+origin); status != want {
			t.Errorf("a page from %s with a path in SITE_URL: %d, want %d", origin, status, want)
		}
	}

	s = apptest.Start(t, "TURNSTILE_SECRET=1x0000000000000000000000000000000AA")
	if got := tools(s); slices.Contains(got, "submit_quote") {
		t.Errorf("behind a bot check: %v", got)
	}

	s = apptest.Start(t, "MCP=off")
	if got := s.Do("POST", "/mcp", `{}`); got.Status != 404 {
		t.Errorf("switched off: %d", got.Status)
	}

	s = apptest.Start(t, "ADMIN_PAGE=on")
	if status, _ := assistant(s, "tools/list", object{}, "Authorization: Bearer wrong"); status != 401 {
		t.Errorf("with a wrong token: %d", status)
	}
	got := tools(s, asOperator)
	if len(got) == 0 || slices.Contains(got, "submit_quote") {
		t.Errorf("with a token: %v", got)
	}
	for _, name := range got {
		if strings.Contains(name, "erase") || strings.Contains(name, "export") {
			t.Errorf("an assistant may %s", name)
		}
	}

	s = apptest.Start(t, "ADMIN_PAGE=on", "ADMIN_TOKENS=bo:viewer:bo-0123456789abcdef")
	got = tools(s, "Authorization: Bearer bo-0123456789abcdef")
	if !slices.Contains(got, "leads") || slices.Contains(got, "add_lead_note") {
		t.Errorf("a viewer is offered %v", got)
	}
}

// A request has one call, whatever version of the protocol its client speaks: a batch would
// count as one request against all limits. No request waits for changes of the tools.
func TestOneCallInEachRequest(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

	for _, version := range []string{
		"",           // clients before 2025-06-18 send no version
		" ",          // an empty value
		"2024-11-05", // the first version, with batches
		"2025-03-26", // the last version with batches
		"2025-06-18", // the first version without batches
		"2025-11-25",
		"1900-01-01", // none
	} {
		header := []string{"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + version}
		for body, want := range map[string]int{
			list:                                200,
			"\ufeff\ufeff" + list:               400,
			"\ufeff[" + list + "]":              400,
			"\ufeff":                            400,
			"[" + list + "]":                    400,
			"[" + list + "," + list + "]":       400,
			` [{"jsonrpc":"2.0","method":"x"}]`: 400,
			`[]`:                                400,
		} {
			if version == "1900-01-01" {
				want = 400
			}
			if got := s.Do("POST", "/mcp", body, header...); got.Status != want {
				t.Errorf("version %q: %s: %s, want %d", version, body, got, want)
			}
		}
		initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
		got := s.Do("POST", "/mcp", initialize, header[:1]...)
		if !got.Is(200, `"capabilities":{"tools":{}}`) {
			t.Errorf("version %q: initialize: %s", version, got)
		}
	}

	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err := apptest.Send(ctx, apptest.HTTP, "POST", s.Base+"/mcp", listen,
		"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	must(t, err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), `"result"`) {
		t.Errorf("listening does not end: %v %d %s", err, resp.StatusCode, body)
	}
}

// An assistant on the service's machine uses either the database, without a token and as
// the local user, or ADMIN_ADDR with a token.
func TestToolsOnThisMachine(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	s := apptest.NewSite(t, "ADMIN_ADDR="+admin).Start()
	id := s.Submit("stdio")

	atAdmin := &apptest.Service{Client: apptest.Client{T: t, Base: "http://" + admin}}
	if got := tools(atAdmin, asOperator); !slices.Contains(got, "retry_delivery") {
		t.Errorf("at ADMIN_ADDR an admin is offered %v", got)
	}
	for _, header := range []string{
		"X-None: 1",
		"Authorization: Bearer wrong",
		"Authorization: Bearer ",
		"Authorization: " + config.DevAdminToken,       // without a scheme
		"Authorization: Basic " + config.DevAdminToken, // of another scheme
		"Authorization: Bearer " + config.DevCacheToken,
		"Authorization: Bearer " + config.DevWebhookSecret,
		"Cookie: siteapi_login=" + config.DevAdminToken,
	} {
		got := atAdmin.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			header, "Accept: application/json, text/event-stream")
		if got.Status != 401 || got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("at ADMIN_ADDR with %s: %s", header, got)
		}
		wants := 200 // of visitors, unless there is a token
		if strings.HasPrefix(header, "Authorization: Bearer ") && header != "Authorization: Bearer " {
			wants = 401
		}
		if status, got := assistant(&apptest.Service{Client: s.Client}, "tools/list", object{}, header); status != wants {
			t.Errorf("at LISTEN_ADDR with %s: %d %v, want %d", header, status, got, wants)
		}
	}

	session := s.Assistant(t)
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name:      "add_lead_note",
		Arguments: object{"id": id, "text": "Called back."},
	})
	if err != nil || got.IsError {
		t.Fatalf("adding a note: %v %+v", err, got)
	}
	if text := session.InitializeResult().Instructions; !strings.Contains(text, "reference") {
		t.Errorf("the instructions: %q", text)
	}
	ids := map[string]bool{"": true}
	for range 2 {
		got, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "lead", Arguments: object{"id": "LR4LB5AK"}})
		var failure problem
		_ = json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &failure)
		if err != nil || failure.Code != "NOT_FOUND" || ids[failure.RequestID] {
			t.Errorf("an unknown lead: %v %+v", err, failure)
		}
		ids[failure.RequestID] = true
	}
	got, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "health"})
	if text, _ := json.Marshal(got); err != nil || got.IsError || !strings.Contains(string(text), "written and committed") {
		t.Errorf("the tool health: %v %s", err, text)
	}
	s.Prints("leads show "+id, "Called back.")
	s.Prints("audit list", "command:")
}

// An assistant's client may close its pipe as soon as it has written. Every call that it
// wrote is answered, and then the command ends.
func TestPipeThatClosesEarly(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	const (
		hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
		list   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		leads  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"leads","arguments":{}}}`
		health = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"health"}}`
	)

	for _, tt := range []struct {
		input string
		want  string // ids of the responses, in order
		code  int
	}{
		{"", "", 0}, // a client that has started and given up
		{hello, "0", 0},
		{hello + list + "\n" + leads + "\n" + health + "\n", "0 1 2 3", 0},         // 0 or 1 of them before
		{hello + health + "\n" + list, "0 1 3", 0},                                 // the slow one first, no line feed at the end
		{strings.ReplaceAll(hello+list+"\n"+leads+"\n", "\n", "\r\n"), "0 1 2", 0}, // as on Windows
		{hello + health + "\n" + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n",
			"0 3", 0}, // a notification has no response
		{hello + health + "\n" + `{"jsonrpc":"2.0","id":4,"method":"no/such"}` + "\n", "0 3 4", 0},
		{hello + `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nosuch"}}` + "\n" + health, "0 3 5", 0},
		{hello + health + "\nnonsense\n", "0 3", 1},                    // a broken line ends the session, not the calls
		{hello + health + "\n" + `{"jsonrpc":"2.0","id":6,`, "0 3", 1}, // killed while it wrote
		{hello + leads + "\n" + strings.Replace(leads, `"id":2`, `"id":"two"`, 1), `0 2 two`, 0},
		{hello + health + "\n" + health + "\n", "0 3", 0}, // an id twice at once did not end
		{list + "\n", "1", 0}, // before the session has begun
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, apptest.Binary, "mcp")
		cmd.Env, cmd.Stdin = s.Env, strings.NewReader(tt.input)
		out, err := cmd.Output()
		cancel()

		var ids []string
		for line := range strings.Lines(string(out)) {
			var response struct{ ID any }
			if json.Unmarshal([]byte(line), &response) != nil {
				t.Errorf("not a response: %s", line)
			}
			ids = append(ids, fmt.Sprint(response.ID))
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != tt.want || cmd.ProcessState.ExitCode() != tt.code {
			t.Errorf("%.400q: responses to %q, want %q: %v", strings.TrimPrefix(tt.input, hello), got, tt.want, err)
		}
	}
}
