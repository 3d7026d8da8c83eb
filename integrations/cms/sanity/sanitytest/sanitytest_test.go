package sanitytest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
)

const count = `count(*[_id == $id])`

// call sends a request as curl would and returns status and body.
func call(t *testing.T, s *sanitytest.Server, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// A connection of its own: net/http repeats a GET whose reused connection is reset.
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func open(t *testing.T, opts sanitytest.Options, docs ...string) *sanitytest.Server {
	t.Helper()
	s := sanitytest.New(opts)
	t.Cleanup(s.Close)
	var raws []json.RawMessage
	for _, d := range docs {
		raws = append(raws, json.RawMessage(d))
	}
	if err := s.Replace(raws...); err != nil {
		t.Fatal(err)
	}
	return s
}

// query is the address of a query with parameters in pairs.
func query(text string, params ...string) string {
	v := url.Values{"query": {text}}
	for i := 0; i+1 < len(params); i += 2 {
		v.Set(params[i], params[i+1])
	}
	return "/v2025-02-19/data/query/production?" + v.Encode()
}

const mutate = "/v2025-02-19/data/mutate/production"

func TestRules(t *testing.T) {
	t.Parallel()
	write, reader := sanitytest.DefaultToken, "reader"
	create := func(doc string) string { return `{"mutations":[{"create":` + doc + `}]}` }
	long := strings.Repeat("x", 5<<20)
	for name, tc := range map[string]struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		"count":                     {"GET", query(count, "$id", `"a"`), "", "", 200, `"result":1`},
		"echoes the query":          {"GET", query(count, "$id", `"a"`), "", "", 200, `"query":"count(`},
		"unless told not to":        {"GET", query(count, "$id", `"a"`, "returnQuery", "false"), "", "", 200, `{"ms":1,"result":1,"syncTags"`},
		"by POST":                   {"POST", "/v2025-02-19/data/query/production", "", `{"query":"` + count + `","params":{"id":"a"}}`, 200, `"result":1`},
		"parameter not JSON":        {"GET", query(count, "$id", `a`), "", "", 400, `queryParseError`},
		"parameter missing":         {"GET", query(count), "", "", 400, `param $id referenced`},
		"parameter of another kind": {"GET", query(count, "$id", `7`), "", "", 400, `param $id referenced`},
		"query missing":             {"GET", query(""), "", "", 400, `the query is missing`},
		"other query":               {"GET", query(`*[_type == "x"]`), "", "", 400, `"type":"queryParseError"`},
		"body not JSON":             {"POST", "/v2025-02-19/data/query/production", "", `{`, 400, `not JSON`},
		"method":                    {"PUT", query(count), "", "", 400, `not allowed`},
		"no such address":           {"GET", "/v1/nope", "", "", 404, `Not Found`},
		"no such dataset":           {"GET", "/v2025-02-19/data/query/other", "", "", 404, `Dataset`},
		"version is no date":        {"GET", "/v1/data/query/production", "", "", 400, `API version`},
		"version of the future":     {"GET", "/v2999-01-01/data/query/production", "", "", 400, `future`},
		"wrong token":               {"GET", query(count, "$id", `"a"`), "nope", "", 401, `SIO-401-ANF`},
		"perspective unknown":       {"GET", query(count, "$id", `"a"`, "perspective", "all"), "", "", 400, `perspective`},
		"drafts need a token":       {"GET", query(count, "$id", `"a"`, "perspective", "drafts"), "", "", 403, `token`},
		"address too long":          {"GET", query(count, "$id", `"`+strings.Repeat("x", 12000)+`"`), "", "", 414, `POST`},
		"dotted, nobody":            {"GET", query(count, "$id", `"x.y"`), "", "", 200, `"result":0`},
		"dotted, reader":            {"GET", query(count, "$id", `"x.y"`), reader, "", 200, `"result":1`},
		"draft, published":          {"GET", query(count, "$id", `"drafts.a"`), reader, "", 200, `"result":0`},
		"draft, raw":                {"GET", query(count, "$id", `"drafts.a"`, "perspective", "raw"), reader, "", 200, `"result":1`},
		"draft, old default":        {"GET", strings.Replace(query(count, "$id", `"drafts.a"`), "2025-02-19", "2024-01-01", 1), reader, "", 200, `"result":1`},

		"create":               {"POST", mutate + "?returnIds=true", write, create(`{"_id":"n","_type":"t"}`), 200, `{"id":"n","operation":"create"}`},
		"create without ids":   {"POST", mutate, write, create(`{"_id":"n","_type":"t"}`), 200, `[{"operation":"create"}]`},
		"create what exists":   {"POST", mutate, write, create(`{"_id":"a","_type":"t"}`), 409, `documentAlreadyExistsError`},
		"again if not exists":  {"POST", mutate + "?returnIds=true", write, `{"mutations":[{"createIfNotExists":{"_id":"a","_type":"t"}}]}`, 200, `{"id":"a","operation":"none"}`},
		"replace":              {"POST", mutate + "?returnIds=true&returnDocuments=true", write, `{"mutations":[{"createOrReplace":{"_id":"a","_type":"t","n":1}}]}`, 200, `"operation":"update","document":{`},
		"delete":               {"POST", mutate + "?returnIds=true", write, `{"mutations":[{"delete":{"id":"a"}},{"delete":{"id":"none"}}]}`, 200, `[{"id":"a","operation":"delete"},{"id":"none","operation":"none"}]`},
		"nobody":               {"POST", mutate, "", create(`{"_id":"n","_type":"t"}`), 403, `permission`},
		"reader":               {"POST", mutate, reader, create(`{"_id":"n","_type":"t"}`), 403, `permission`},
		"by GET":               {"GET", mutate, write, "", 405, `POST`},
		"no type":              {"POST", mutate, write, create(`{"_id":"n"}`), 400, `_type`},
		"no id":                {"POST", mutate, write, create(`{"_type":"t"}`), 400, `_id`},
		"odd id":               {"POST", mutate, write, create(`{"_id":"a b","_type":"t"}`), 400, `invalid characters`},
		"id with a hyphen":     {"POST", mutate, write, create(`{"_id":"-a","_type":"t"}`), 400, `invalid characters`},
		"long id":              {"POST", mutate, write, create(`{"_id":"` + strings.Repeat("x", 129) + `","_type":"t"}`), 400, `too long`},
		"odd name":             {"POST", mutate, write, create(`{"_id":"n","_type":"t","a":[{"b c":1}]}`), 400, `Attribute name`},
		"not a document":       {"POST", mutate, write, create(`7`), 400, `not an object`},
		"no mutations":         {"POST", mutate, write, `{"mutations":[]}`, 400, `list of mutations`},
		"mutation not JSON":    {"POST", mutate, write, `{`, 400, `list of mutations`},
		"two in one":           {"POST", mutate, write, `{"mutations":[{"delete":{"id":"a"},"create":{}}]}`, 400, `exactly one`},
		"patch":                {"POST", mutate, write, `{"mutations":[{"patch":{}}]}`, 400, `does not understand`},
		"delete without id":    {"POST", mutate, write, `{"mutations":[{"delete":{}}]}`, 400, `delete needs an id`},
		"visibility":           {"POST", mutate + "?visibility=now", write, create(`{"_id":"n","_type":"t"}`), 400, `visibility`},
		"larger than 4 MB":     {"POST", mutate, write, create(`{"_id":"n","_type":"t","x":"` + long + `"}`), 413, `4 MB`},
		"transaction id taken": {"POST", mutate, write, `{"transactionId":"stand-in-1","mutations":[{"delete":{"id":"a"}}]}`, 409, `transactionAlreadyExistsError`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sanitytest.Options{ReadToken: reader},
				`{"_id":"a","_type":"t"}`, `{"_id":"drafts.a","_type":"t"}`, `{"_id":"x.y","_type":"t"}`)
			if name == "transaction id taken" {
				call(t, s, "POST", mutate, write, create(`{"_id":"first","_type":"t"}`))
			}
			status, body := call(t, s, tc.method, tc.path, tc.token, tc.body)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%d %.300s, want %d with %q", status, body, tc.status, tc.want)
			}
		})
	}
}

func TestTransactionsAreWhole(t *testing.T) {
	t.Parallel()
	s := open(t, sanitytest.Options{}, `{"_id":"a","_type":"t"}`)
	body := `{"mutations":[{"create":{"_id":"b","_type":"t"}},{"delete":{"id":"a"}},{"create":{"_id":"b","_type":"t"}}]}`
	if status, _ := call(t, s, "POST", mutate, sanitytest.DefaultToken, body); status != 409 {
		t.Errorf("status %d", status)
	}
	if docs := s.Documents(); len(docs) != 1 || docs["a"] == nil {
		t.Errorf("half of it happened: %s", docs)
	}
	if status, _ := call(t, s, "POST", mutate+"?dryRun=true", sanitytest.DefaultToken, `{"mutations":[{"delete":{"id":"a"}}]}`); status != 200 || len(s.Documents()) != 1 {
		t.Errorf("the dry run was none (%d)", status)
	}
}

func TestMutationLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, sanitytest.Options{MutationsPerSecond: 2, Now: func() time.Time { return now }})
	var got []int
	for i := range 4 {
		if i == 3 {
			now = now.Add(time.Second)
		}
		status, _ := call(t, s, "POST", mutate, sanitytest.DefaultToken, fmt.Sprintf(`{"mutations":[{"create":{"_id":"n%d","_type":"t"}}]}`, i))
		got = append(got, status)
	}
	if !slices.Equal(got, []int{200, 200, 429, 200}) {
		t.Errorf("%d", got)
	}
}

func TestReplaceRefusesBrokenDocuments(t *testing.T) {
	t.Parallel()
	s := open(t, sanitytest.Options{}, `{"_id":"a","_type":"t"}`)
	for _, doc := range []string{`{"_id":"b"}`, `{"_type":"t"}`, `[]`, `{`} {
		if err := s.Replace(json.RawMessage(doc)); err == nil {
			t.Errorf("%s was taken", doc)
		}
	}
	if len(s.Documents()) != 1 {
		t.Error("the documents changed")
	}
}
