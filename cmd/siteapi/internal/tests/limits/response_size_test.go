package limits

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// aliased returns a field under n aliases.
func aliased(field string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, " a%d: %s", i, field)
	}
	return text.String()
}

// posts returns the path of a content file with n documents of size bytes each.
func posts(t *testing.T, n, size int) (path string) {
	t.Helper()
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id":"p%d","_type":"post","language":"en","body":"%s"}`,
			i, strings.Repeat("x", size))
	}

	file := &apptest.Client{T: t, DataDir: t.TempDir()}
	file.WriteContent("[" + strings.Join(docs, ",") + "]")
	return filepath.Join(file.DataDir, "content.json")
}

// TestResponsesAreBoundedEarly multiplies content by aliases of one field, of several
// fields and in fragments. Such a query is rejected before its response is built.
func TestResponsesAreBoundedEarly(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "CONTENT_TYPES=post", "CMS_FILE="+posts(t, 100, 12_500))
	r.Query(`{ content(documentType: "post") { id } }`)
	before := peakMemory(r)

	const post = `content(documentType: "post") `
	for name, query := range map[string]string{
		"aliases of a field":  `{ ` + post + `{` + aliased("fields", 50) + `} }`,
		"aliases of the root": `{` + aliased(post+"{ fields }", 20) + ` }`,
		"a fragment": `{ ` + post + `{ ...f b: fields } } fragment f on ContentDocument {` +
			aliased("fields", 49) + `}`,
	} {
		if response := floodGraphQL(r, fmt.Sprintf(`{"query":%q}`, query)); !strings.Contains(
			string(response), `"BAD_USER_INPUT"`) || len(response) > 9<<20 {
			t.Errorf("%s: %d bytes, %.300s", name, len(response), response)
		}
	}

	// Without aliases, introspection repeats the schema in two levels at most.
	const text = " name description isDeprecated "
	level := text + "args {" + text + "type { description enumValues {" + text + "} } } type { description "
	widest := `{ __schema { types { description fields {` + level + `fields {` + level +
		`ofType { description } } } } } } } }`
	if response := r.Query(widest); !strings.Contains(response, `"data"`) || len(response) > 8<<20 {
		t.Errorf("introspection: %d bytes, %.300s", len(response), response)
	}
	for name, query := range map[string]string{
		"of the root": `{ a: __schema { types { name } } b: __schema { types { name } } }`,
		"below":       `{ __schema { types { fields { type { a: name } } } } }`,
	} {
		if response := r.Query(query); !strings.Contains(response, "Introspection must not use aliases") {
			t.Errorf("aliases %s: %d bytes, %.300s", name, len(response), response)
		}
	}

	if peak := peakMemory(r); peak > before+128 {
		t.Errorf("memory grew by %d MiB", peak-before)
	}
	if got := r.Query(`{ ` + post + `{` + aliased("fields", 5) + `} }`); len(got) < 5*1_250_000 {
		t.Errorf("five aliases: %d bytes, %.300s", len(got), got)
	}
}

// TestAllContentFitsOnce requests more content than the usual limit, once and twice in a
// query.
func TestAllContentFitsOnce(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "CONTENT_TYPES=post", "CMS_FILE="+posts(t, 100, 100_000))
	const query = `{ content(documentType: "post") { id fields%s } }`

	if got := r.Query(fmt.Sprintf(query, "")); len(got) < 10_000_000 {
		t.Errorf("once: %d bytes, %.300s", len(got), got)
	}
	if got := r.Query(fmt.Sprintf(query, " again: fields")); !strings.Contains(got, `"BAD_USER_INPUT"`) {
		t.Errorf("twice: %d bytes, %.300s", len(got), got)
	}
}

// TestContentIsChargedByWork reads content until the client is rejected. Large responses,
// many small documents or objects, many fields, and references that are resolved allow
// fewer requests than others, but not if the response is that of another request.
func TestContentIsChargedByWork(t *testing.T) {
	t.Parallel()
	const post, page, same = `content(documentType: "post") `, `contentPage(documentType: "post") `, "same: "
	for name, c := range map[string]struct {
		documents, size int
		fields          string
		refused         bool
	}{
		"5 MB":                            {5, 1_000_000, post + "{ id fields }", true},
		"6,000 documents":                 {6000, 100, post + "{ id fields }", true},
		"6,000 documents of a page":       {6000, 100, page + "{ documents { id } }", true},
		"the same documents many times":   {1000, 100, page + "{ documents { id }" + aliased("documents { id }", 10) + "}", true},
		"as many documents as the sample": {50, 1_000, post + "{ id fields }", false},
		"resolved and not selected":       {100, 20_000, `content(documentType: "post", resolve: 1) { id }`, true},
		"more than can be resolved":       {100, 100_000, `content(documentType: "post", resolve: 1) { fields }`, true},
		"resolved, few":                   {10, 1_000, `content(documentType: "post", resolve: 1) { fields }`, false},
		"twenty lists":                    {50, 100, aliased(post+"{ id }", 20), true},
		"twenty pages":                    {50, 100, aliased(page+"{ total }", 20), true},
		"twenty slugs":                    {50, 100, aliased(`content(documentType: "post", slug: "x") { id }`, 20), true},
		"three lists":                     {50, 100, aliased(post+"{ id }", 3), false},
		"the same twenty lists":           {50, 100, same + aliased(post+"{ id }", 20), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append(apptest.DefaultLimits(t),
				"CONTENT_TYPES=post", "CMS_DRIVER=file", "CMS_FILE="+posts(t, c.documents, c.size))
			r := apptest.Launch(t, t.TempDir(), env...)

			// The requests are sent concurrently, so that the rate limit does not refill
			// in between.
			var refused atomic.Int64
			var group sync.WaitGroup
			for i := range 30 {
				group.Go(func() {
					// Each query is different, so that no response is cached.
					fields, shared := strings.CutPrefix(c.fields, same)
					if shared {
						i = 0
					}
					got := r.Query(fmt.Sprintf(`query q%d { %s }`, i, fields))
					if strings.Contains(got, `"RATE_LIMITED"`) {
						refused.Add(1)
					}
				})
			}
			group.Wait()

			if n := refused.Load(); (n > 0) != c.refused {
				t.Errorf("%d of 30 requests were rejected", n)
			}
		})
	}
}

// TestPagesOfLeadsEndEarly reads leads with so many long notes that they do not fit into
// one response. Each page has as many leads as fit, and the following pages have the rest.
func TestPagesOfLeadsEndEarly(t *testing.T) {
	t.Parallel()
	const total = 24
	admin := apptest.FreeAddress(t)
	s := apptest.NewSite(t, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=secret-of-operators")
	leads := make([]lead.Lead, total)
	for i := range leads {
		id := fmt.Sprintf("lead-%03d", i)
		leads[i] = lead.Lead{ID: id, SessionID: id, SubmittedAt: time.Now().Add(-time.Minute)}
		leads[i].Contact.Email = id + "@example.com"
	}
	s.Store(nil, leads...)
	s.Damage(`WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200)
INSERT INTO lead_notes (lead_id, at, author, text)
SELECT id, n, 'token', replace(hex(zeroblob(1000)), '00', 'xy') FROM leads, number`)
	s.Start()

	c := &apptest.Client{T: t, Base: "http://" + admin}
	for name, fields := range map[string]string{
		"leads":      `list: leads(first: 200%s) { edges { node { id notes { text } } }`,
		"deliveries": `list: deliveries(first: 200%s) { edges { node { lead { id notes { text } } } }`,
	} {
		seen, after, pages := map[string]bool{}, "", 0
		for more := true; more && pages < 30; pages++ {
			var response struct {
				Data struct {
					List struct {
						Edges []struct {
							Node struct {
								ID   string
								Lead struct{ ID string }
							}
						}
						PageInfo schema.PageInfo
					}
				}
				Errors []any
			}
			query := `{ ` + fmt.Sprintf(fields, after) + ` pageInfo { hasNextPage endCursor } } }`
			text := c.Query(query, nil, "Authorization: Bearer secret-of-operators").Body
			if err := json.Unmarshal(text, &response); err != nil || response.Errors != nil {
				t.Fatalf("%s: %v %.300s", name, err, text)
			}

			list := response.Data.List
			for _, e := range list.Edges {
				seen[e.Node.ID+e.Node.Lead.ID] = true
			}
			more = list.PageInfo.HasNextPage
			after = fmt.Sprintf(", after: %q", schema.ValueOr(list.PageInfo.EndCursor, ""))
		}
		if len(seen) != total || pages < 2 {
			t.Errorf("%s: %d pages have %d leads, want %d", name, pages, len(seen), total)
		}
	}

	if n := strings.Count(s.Prints("leads export").Out, "@example.com"); n != total {
		t.Errorf("the export has %d leads", n)
	}
}

// TestReadersAfterAnInvalidation has many readers wait for content of 6 MB. It is fetched
// and decoded once, and its fallback copy is written once.
func TestReadersAfterAnInvalidation(t *testing.T) {
	t.Parallel()
	file := posts(t, 600, 10_000)
	r := apptest.Launch(t, t.TempDir(), "CONTENT_TYPES=post", "CMS_FILE="+file)
	readers := func(round int) string {
		return fmt.Sprintf(`{"query":"query r%d { SiteSettings(id: \"siteSettings\") { contactEmail } }"}`, round)
	}
	r.Do("POST", "/graphql", readers(3))
	before := peakMemory(r)

	for round := range 3 {
		r.InvalidateAll()
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				if got := r.Do("POST", "/graphql",
					readers(round)); got.Status != 200 {
					t.Errorf("a reader got %s", got)
				}
			})
		}
		group.Wait()
	}

	// If each reader decoded the content itself, it would take over 2 GB.
	if peak := peakMemory(r); peak > before+128 {
		t.Errorf("memory grew by %d MiB", peak-before)
	}
	if r.Log.Has("fallback copy") {
		t.Errorf("a problem with the fallback copy was logged: %.500s", r.Log)
	}
}
