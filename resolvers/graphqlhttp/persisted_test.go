package graphqlhttp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/resolvers/graphqlhttp"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func persistedExtension(hash string) string {
	return `{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}`
}

// byHash requests a document by its hash with GET, as Apollo and urql do.
func (d *endpoint) byHash(t *testing.T, accept, hash string) reply {
	t.Helper()
	query := url.Values{"operationName": {""}, "variables": {"{}"}, "extensions": {persistedExtension(hash)}}
	return d.do(t, "GET", query.Encode(), http.Header{"Accept": {accept}}, nil)
}

// register posts a document with its hash.
func (d *endpoint) register(t *testing.T, hash, text string) reply {
	t.Helper()
	return d.post(t, "", asBody(t, map[string]any{
		"query":      text,
		"extensions": json.RawMessage(persistedExtension(hash)),
	}))
}

func TestAutomaticPersistedQueries(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	hash := sha(phoneQuery)

	for accept, status := range map[string]int{typeJSON: 200, typeGraphQL: 400} {
		got := d.byHash(t, accept, hash)
		message, code := got.firstError(t)
		if got.status != status || message != "PersistedQueryNotFound" ||
			code != "PERSISTED_QUERY_NOT_FOUND" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("a miss: %d %s %v", got.status, got.body, got.header)
		}
	}

	if got := d.register(t, hash, phoneQuery); got.body != phoneResponse("+1 555 0100") {
		t.Fatalf("registering: %s", got.body)
	}

	for range 2 { // executed, then cached
		got := d.byHash(t, typeJSON, hash)
		if got.body != phoneResponse("+1 555 0100") || got.header.Get("ETag") == "" ||
			got.header.Get("Cache-Control") == "no-store" {
			t.Errorf("a hit: %d %s %v", got.status, got.body, got.header)
		}
	}
	// The draft on persisted documents has the member documentId for the hash.
	for _, id := range []string{hash, "sha256:" + hash} {
		if got := d.post(t, "", `{"documentId":"`+id+`"}`); got.body != phoneResponse("+1 555 0100") {
			t.Errorf("documentId: %s", got.body)
		}
	}

	// A mutation can be registered, but not run by GET.
	mutation := `mutation { trackQuote(input: {sessionId: "a"}) { success } }`
	d.register(t, sha(mutation), mutation)
	if got := d.byHash(t, typeJSON, sha(mutation)); got.status != 405 {
		t.Errorf("a mutation by GET: %d %s", got.status, got.body)
	}
}

func TestRejectedPersistedQueries(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	if _, code := d.register(t, sha("x"), phoneQuery).firstError(t); code != "BAD_USER_INPUT" {
		t.Error("another document's hash is accepted")
	}

	for name, extension := range map[string]string{
		"another version":          `{"version":2,"sha256Hash":"` + sha(phoneQuery) + `"}`,
		"no hash":                  `{"version":1}`,
		"a hash of the wrong type": `{"version":1,"sha256Hash":7}`,
		"a list":                   `[]`,
	} {
		got := d.post(t, "", `{"extensions":{"persistedQuery":`+extension+`}}`)
		if _, code := got.firstError(t); got.status != 400 || code != "BAD_USER_INPUT" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}

	// A document that fails the checks is not registered.
	for name, text := range map[string]string{
		"invalid":      `{ nothing }`,
		"wrong values": `{ content(documentType: 7) { id } }`,
	} {
		d.register(t, sha(text), text)
		if message, _ := d.byHash(t, typeJSON, sha(text)).firstError(t); message != "PersistedQueryNotFound" {
			t.Errorf("%s was registered", name)
		}
	}
}

// folder returns a new folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// trusting returns an endpoint that accepts the trusted documents of a folder or manifest.
func trusting(t *testing.T, path string) *endpoint {
	t.Helper()
	list, err := graphqlhttp.ReadTrusted(path)
	must(t, err)
	return newEndpoint(t, func(s *setup) { s.documents.Trusted, s.documents.TrustedOnly = list, true })
}

func TestTrustedDocuments(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"folder/deep/phone.graphql": phoneQuery,
		"folder/notes.txt":          "not a document",
		"saved/phone.gql":           phoneQuery + "\n", // editors add a new line

		// Kubernetes mounts a ConfigMap so; other tools leave hidden files as well.
		"mounted/..2026_01_02/phone.graphql": phoneQuery,
		"mounted/.git/hooks/query.graphql":   "not a document",
		"mounted/.#phone.graphql":            "not a document",
		"mounted/._phone.gql":                "\x00\x05",
		"apollo.json": asBody(t, map[string]any{
			"format":  "apollo-persisted-query-manifest",
			"version": 1,
			"operations": []any{
				map[string]any{"id": sha(phoneQuery), "name": "Phone", "type": "query", "body": phoneQuery},
			},
		}),
		"plain.json": asBody(t, map[string]string{sha(phoneQuery): phoneQuery}),
	})

	mounted := filepath.Join(dir, "mounted")
	must(t, os.Symlink("..2026_01_02", filepath.Join(mounted, "..data")))
	must(t, os.Symlink("..data/phone.graphql", filepath.Join(mounted, "phone.graphql")))

	for _, name := range []string{"folder", "mounted", "saved", "apollo.json", "plain.json"} {
		d := trusting(t, filepath.Join(dir, name))
		for _, got := range []reply{d.byHash(t, typeJSON, sha(phoneQuery)), d.ask(t, "", phoneQuery)} {
			if got.body != phoneResponse("+1 555 0100") {
				t.Errorf("%s: %s", name, got.body)
			}
		}
		for _, hash := range []string{sha(`{ __typename }`), sha(phoneQuery)} {
			got := d.register(t, hash, `{ __typename }`)
			if _, code := got.firstError(t); code != "QUERY_NOT_IN_SAFELIST" {
				t.Errorf("%s, another document: %d %s", name, got.status, got.body)
			}
		}
	}
}

// Clients print a document in their own way. What is not a difference in meaning is none
// here, and every other difference is one.
func TestFormsOfATrustedDocument(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"card.graphql":           "query Card($all: Boolean! = true) { SiteSettings(id: \"siteSettings\") { ...Contact ...Links @include(if: $all) } } # no line follows",
		"fragments/contact.gql":  "\ufefffragment Contact on SiteSettings { phone: contactPhone }",
		"fragments/links.gql":    "fragment Links on SiteSettings { socialLinks { ...Link } }\nfragment Link on SocialLinks { facebook }",
		"several.graphql":        "query One { SiteSettings(id: \"siteSettings\") { contactPhone } }\r\nquery Two { SiteSettings(id: \"siteSettings\") { contactEmail } }",
		"windows.graphql":        "\ufeffquery Windows {\r\n  SiteSettings(id: \"siteSettings\") { contactPhone }\r\n}\r\n",
		"unused/fragment.gql":    "fragment Unused on SiteSettings { contactEmail }",
		"unused/notes.md":        "# Notes",
		"deep/er/mutation.gql":   `mutation Track { trackQuote(input: {sessionId: "s"}) { success } }`,
		"deep/er/typename.gql":   `{ SiteSettings(id: "siteSettings") { __typename contactPhone } }`,
		"deep/er/paragraphs.gql": "query Long { content(documentType: \"\"\"\n  heroSection\n\"\"\") { id } }",
	})
	d := trusting(t, dir)

	const (
		head    = `query Card($all: Boolean! = true) { SiteSettings(id: "siteSettings") { ...Contact ...Links @include(if: $all) } } `
		contact = `fragment Contact on SiteSettings { phone: contactPhone } `
		links   = `fragment Links on SiteSettings { socialLinks { ...Link } } `
		link    = `fragment Link on SocialLinks { facebook } `
		one     = `query One { SiteSettings(id: "siteSettings") { contactPhone } } `
	)
	for name, tt := range map[string]struct {
		query   string
		trusted bool
	}{
		"as it is":                      {head + contact + links + link, true},
		"the fragments first":           {link + links + contact + head, true},
		"on several lines":              {strings.ReplaceAll(head+link+contact+links, " ", "\r\n\t,"), true},
		"with comments":                 {head + contact + "# the links\n" + links + link + "# the end", true},
		"with a byte order mark":        {"\ufeff" + head + contact + links + link, true},
		"with descriptions":             {`"The card." ` + head + contact + links + link, true},
		"by Apollo Client":              {strings.ReplaceAll(head+contact+links+link, "} }", "__typename } }") + "", true},
		"by urql":                       {head + contact + links + `fragment Link on SocialLinks { facebook __typename }`, true},
		"__typename everywhere":         {strings.ReplaceAll(head+contact+links+link, " }", " __typename }"), true},
		"__typename first":              {strings.ReplaceAll(head+contact+links+link, "{ ", "{ __typename "), true},
		"one operation of several":      {one, true},
		"a file of Windows":             {`query Windows{SiteSettings(id:"siteSettings"){contactPhone}}`, true},
		"without its own __typename":    {`{ SiteSettings(id: "siteSettings") { contactPhone } }`, true},
		"query for a shorthand":         {`query { SiteSettings(id: "siteSettings") { contactPhone __typename } }`, true},
		"a block string on one line":    {`query Long { content(documentType: "heroSection") { id } }`, true},
		"a mutation":                    {`mutation Track { trackQuote(input: {sessionId: "s"}) { success __typename } }`, true},
		"__typename with an alias":      {strings.Replace(one, "contactPhone", "contactPhone t: __typename", 1), false},
		"__typename with a directive":   {strings.Replace(one, "contactPhone", "contactPhone __typename @skip(if: false)", 1), false},
		"another field":                 {strings.Replace(one, "contactPhone", "contactPhone contactEmail", 1), false},
		"another alias":                 {strings.Replace(one, "contactPhone", "p: contactPhone", 1), false},
		"another literal":               {strings.Replace(one, "siteSettings", "siteSetting", 1), false},
		"another line in a literal":     {`query Long { content(documentType: "heroSection\n__typename") { id } }`, false},
		"another name":                  {strings.Replace(one, "One", "Other", 1), false},
		"without a directive":           {strings.Replace(head, "@include(if: $all)", "", 1) + contact + links + link, false},
		"another default":               {strings.Replace(head, "= true", "= false", 1) + contact + links + link, false},
		"another body of a fragment":    {head + contact + links + `fragment Link on SocialLinks { twitter }`, false},
		"a fragment twice":              {head + contact + links + link + `fragment Link on SocialLinks { twitter }`, false},
		"a fragment spread out":         {strings.Replace(head, "...Contact", "phone: contactPhone", 1) + links + link, false},
		"one more fragment":             {one + `fragment Contact on SiteSettings { contactPhone }`, false},
		"one more operation":            {one + `query Other { cacheStats { success } }`, false},
		"a query instead of a mutation": {`query Track { trackQuote(input: {sessionId: "s"}) { success } }`, false},
		"only __typename":               {`query One { __typename }`, false},
		"a fragment of a file":          {`fragment Unused on SiteSettings { contactEmail }`, false},
	} {
		got := d.ask(t, "", tt.query)
		if _, code := got.firstError(t); (code == "") != tt.trusted {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := d.ask(t, "", strings.Replace(one, "contactPhone", "__typename", 1)); strings.Contains(got.body, `"data"`) {
		t.Errorf("an empty selection: %s", got.body)
	}
	got := d.ask(t, "", strings.Replace(one, "contactPhone", "contactPhone __typename", 1))
	if got.body != `{"data":{"SiteSettings":{"contactPhone":"+1 555 0100","__typename":"SiteSettings"}}}` {
		t.Errorf("the field __typename is missing: %s", got.body)
	}

	// A file is found by its hash, and gets the fragments that it needs.
	card, _ := os.ReadFile(filepath.Join(dir, "card.graphql"))
	windows := "query Windows {\r\n  SiteSettings(id: \"siteSettings\") { contactPhone }\r\n}"
	for id, want := range map[string]string{
		sha(string(card)): `{"data":{"SiteSettings":{"phone":"+1 555 0100","socialLinks":null}}}`,
		sha(windows):      phoneResponse("+1 555 0100"),
	} {
		if got := d.byHash(t, typeJSON, id); got.body != want {
			t.Errorf("by its hash: %s", got.body)
		}
	}
}

func TestUnreadableTrustedDocuments(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"no-documents/notes.md": "# Notes",
		"not.json":              `{`,
		"numbers.json":          `{"a":1}`,
		"empty.json":            `{}`,
		"version.json":          `{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}`,
	})
	for _, name := range []string{"missing", "no-documents", "not.json", "numbers.json", "empty.json", "version.json"} {
		if list, err := graphqlhttp.ReadTrusted(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: read as %v", name, list)
		}
	}

	// The error names every document that is not valid.
	_, err := graphqlhttp.NewDocuments(graphqlhttp.DocumentOptions{
		Trusted: []graphqlhttp.TrustedDocument{
			{IDs: []string{"1"}, Name: "one.graphql", Text: `{ nothing }`},
			{IDs: []string{""}, Name: "three.graphql", Text: `{ __typename }`},
			{IDs: []string{"4"}, Name: "four.graphql", Text: `{ __typename }`},
			{IDs: []string{"4"}, Name: "five.graphql", Text: `{ a: __typename }`},
			{IDs: []string{"6"}, Name: "six.graphql", Text: `fragment A on Query { __typename }`},
			{IDs: []string{"7"}, Name: "seven.graphql", Text: `fragment A on Query { a: __typename }`},
			{IDs: []string{"8"}, Name: "eight.graphql", Text: `{ ...B }`},
			{IDs: []string{"9"}, Name: "nine.graphql", Text: `# nothing yet`},
		},
	})

	for _, name := range []string{"one", "three", "five", "seven", "eight", "nine"} {
		if err == nil || !strings.Contains(err.Error(), name+".graphql") {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}

	if _, err := graphqlhttp.NewDocuments(graphqlhttp.DocumentOptions{TrustedOnly: true}); err == nil {
		t.Error("only trusted documents, but none: accepted")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
