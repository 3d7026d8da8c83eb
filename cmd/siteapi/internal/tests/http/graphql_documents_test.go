package http

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func persistedExtension(hash string) string {
	return `{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}`
}

// byHash requests a document by its hash with GET, as Apollo and urql do.
func byHash(s *apptest.Service, accept, hash string) apptest.Response {
	s.T.Helper()
	query := url.Values{"operationName": {""}, "variables": {"{}"}, "extensions": {persistedExtension(hash)}}
	return s.Do("GET", "/graphql?"+query.Encode(), "", "Accept: "+accept)
}

// register posts a document with its hash.
func register(s *apptest.Service, hash, text string) apptest.Response {
	s.T.Helper()
	body, _ := strings.CutSuffix(document("", text).body, "}")
	return s.Do("POST", "/graphql", body+`,"extensions":`+persistedExtension(hash)+`}`)
}

func TestAutomaticPersistedQueries(t *testing.T) {
	t.Parallel()
	s := startWithPhone(t)
	hash := sha(phoneQuery)

	for accept, status := range map[string]int{typeJSON: 200, typeGraphQL: 400} {
		got := byHash(s, accept, hash)
		if got.Status != status || !got.Has(`"message":"PersistedQueryNotFound"`) ||
			s.GraphQLOutcome(got).Code != "PERSISTED_QUERY_NOT_FOUND" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("a miss: %s %v", got, got.Header)
		}
	}

	if got := register(s, hash, phoneQuery); string(got.Body) != phoneResponse {
		t.Fatalf("registering: %s", got)
	}

	for range 2 { // executed, then cached
		got := byHash(s, typeJSON, hash)
		if string(got.Body) != phoneResponse || got.Header.Get("ETag") == "" ||
			got.Header.Get("Cache-Control") == "no-store" {
			t.Errorf("a hit: %s %v", got, got.Header)
		}
	}
	// The draft on persisted documents has the member documentId for the hash.
	for _, id := range []string{hash, "sha256:" + hash} {
		if got := s.Do("POST", "/graphql", `{"documentId":"`+id+`"}`); string(got.Body) != phoneResponse {
			t.Errorf("documentId: %s", got)
		}
	}

	// A mutation can be registered, but not run by GET.
	mutation := `mutation { trackQuote(input: {sessionId: "a"}) { success } }`
	register(s, sha(mutation), mutation)
	if got := byHash(s, typeJSON, sha(mutation)); got.Status != 405 {
		t.Errorf("a mutation by GET: %s", got)
	}
}

func TestRejectedPersistedQueries(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	if got := register(s, sha("x"), phoneQuery); !got.Has(`"BAD_USER_INPUT"`) {
		t.Error("another document's hash is accepted")
	}

	for name, extension := range map[string]string{
		"another version":          `{"version":2,"sha256Hash":"` + sha(phoneQuery) + `"}`,
		"no hash":                  `{"version":1}`,
		"a hash of the wrong type": `{"version":1,"sha256Hash":7}`,
		"a list":                   `[]`,
	} {
		got := s.Do("POST", "/graphql", `{"extensions":{"persistedQuery":`+extension+`}}`)
		if !got.Is(400, `"BAD_USER_INPUT"`) {
			t.Errorf("%s: %s", name, got)
		}
	}

	// A document that fails the checks is not registered.
	for name, text := range map[string]string{
		"invalid":      `{ nothing }`,
		"wrong values": `{ content(documentType: 7) { id } }`,
	} {
		register(s, sha(text), text)
		if got := byHash(s, typeJSON, sha(text)); !got.Has("PersistedQueryNotFound") {
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

// trusting returns a service that accepts the trusted documents of a folder or manifest.
func trusting(t *testing.T, path string) *apptest.Service {
	t.Helper()
	return startWithPhone(t, "GRAPHQL_OPERATIONS=trusted", "GRAPHQL_DOCUMENTS="+path)
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
		"apollo.json": `{"format":"apollo-persisted-query-manifest","version":1,"operations":[` +
			fmt.Sprintf(`{"id":%q,"name":"Phone","type":"query","body":%q}]}`, sha(phoneQuery), phoneQuery),
		"plain.json": fmt.Sprintf(`{%q:%q}`, sha(phoneQuery), phoneQuery),
	})

	mounted := filepath.Join(dir, "mounted")
	must(t, os.Symlink("..2026_01_02", filepath.Join(mounted, "..data")))
	must(t, os.Symlink("..data/phone.graphql", filepath.Join(mounted, "phone.graphql")))

	for _, name := range []string{"folder", "mounted", "saved", "apollo.json", "plain.json"} {
		s := trusting(t, filepath.Join(dir, name))
		for _, got := range []apptest.Response{byHash(s, typeJSON, sha(phoneQuery)), s.Query(phoneQuery, nil)} {
			if string(got.Body) != phoneResponse {
				t.Errorf("%s: %s", name, got)
			}
		}
		for _, hash := range []string{sha(`{ __typename }`), sha(phoneQuery)} {
			if got := register(s, hash, `{ __typename }`); !got.Has(`"QUERY_NOT_IN_SAFELIST"`) {
				t.Errorf("%s, another document: %s", name, got)
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
	s := trusting(t, dir)

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
		if got := s.Query(tt.query, nil); got.Has(`"extensions"`) == tt.trusted {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := s.Query(strings.Replace(one, "contactPhone", "__typename", 1), nil); got.Has(`"data"`) {
		t.Errorf("an empty selection: %s", got)
	}
	got := s.Query(strings.Replace(one, "contactPhone", "contactPhone __typename", 1), nil)
	if !got.Has(`{"data":{"SiteSettings":{"contactPhone":"+1 555 0100","__typename":"SiteSettings"}}}`) {
		t.Errorf("the field __typename is missing: %s", got)
	}

	// A file is found by its hash, and gets the fragments that it needs.
	card, _ := os.ReadFile(filepath.Join(dir, "card.graphql"))
	windows := "query Windows {\r\n  SiteSettings(id: \"siteSettings\") { contactPhone }\r\n}"
	for id, want := range map[string]string{
		sha(string(card)): `{"data":{"SiteSettings":{"phone":"+1 555 0100","socialLinks":null}}}`,
		sha(windows):      phoneResponse,
	} {
		if got := byHash(s, typeJSON, id); string(got.Body) != want {
			t.Errorf("by its hash: %s", got)
		}
	}
}
