package quotes

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestContractTrack(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for _, tt := range []struct {
		members  string
		accepted bool
	}{
		{`"sessionId": "s:1", "selections": {"projectType": "web-app", "features": ["a"]},
			"estimate": {"min": 1, "max": 2, "currency": "EUR"}, "formData": {"email": "a@b.co", "firstName": "A"}`, true},
		{`"sessionId": "A-Z_a.z:0-9"`, true},
		{`"sessionId": "` + strings.Repeat("s", 128) + `"`, true},
		{`"sessionId": "s", "selections": {"projectType": "", "features": ["Not A Slug", null]},
			"estimate": {"min": -5, "max": 1e12, "currency": "?"}, "formData": {"email": "ana@", "firstName": "A"}`, true},
		{`"sessionId": "s", "selections": 5, "estimate": {"min": {}}, "formData": [1]`, true},
		{`"selections": {"projectType": "x"}`, false},
		{`"sessionId": "` + strings.Repeat("s", 129) + `"`, false},
		{`"sessionId": "a b"`, false},
	} {
		for _, endpoint := range apptest.Endpoints {
			input := object{}
			apptest.Change(input, tt.members)
			got := s.TrackThrough(endpoint, input)
			want := object{"success": true, "sessionId": input["sessionId"]}
			if tt.accepted && !reflect.DeepEqual(got.Data, want) ||
				!tt.accepted && (got.Code != "BAD_USER_INPUT" || got.Fields["sessionId"] == "") {
				t.Errorf("%s: %s", tt.members, got)
			}
		}
	}
}

func TestContractTrackKeepsTheLatestState(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	for _, members := range []string{
		`"selections": {"projectType": "web-app"}, "formData": {"email": "ana@", "firstName": "Ana"}`,
		`"selections": {"projectType": "shop", "features": ["blog", "Bad One", "blog"]},
			"estimate": {"min": 10, "currency": "EUR"}, "formData": {"email": "ana@example.com"}`,
	} {
		state := object{"sessionId": "v-1"}
		apptest.Change(state, members)
		s.TrackThrough("REST", state)
	}
	got := session(s, "v-1")
	if got.Visits != 2 || got.Selections.ProjectType != "shop" ||
		!slices.Equal(got.Selections.Features, []string{"blog"}) ||
		got.Estimate.Min == nil || *got.Estimate.Min != 10 || got.Estimate.Max != nil ||
		got.Hints.Email != "ana@example.com" || got.LastSeen.Before(got.FirstSeen) {
		t.Errorf("got %+v", got)
	}
}

var leadIDForm = regexp.MustCompile(`^[a-z0-9]{26}$`)

func TestContractSubmit(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	for _, endpoint := range apptest.Endpoints {
		got := s.SubmitThrough(endpoint, apptest.ValidLead("s-"+endpoint))
		id := got.ID()
		want := object{
			"success": true, "submissionId": id,
			"pdfUrl": "/api/quote/pdf?id=" + id, "quoteUrl": "/api/quote/page?id=" + id,
		}
		if !leadIDForm.MatchString(id) || !reflect.DeepEqual(got.Data, want) {
			t.Fatalf("got %s", got)
		}

		apptest.Eventually(t, "both deliveries arrive", func() bool {
			return delivered(s, "cms", id) != "" && delivered(s, "crm", id) != ""
		})
		stored := delivered(s, "cms", id)
		for _, part := range []string{
			`"_type"`, `quoteSubmission.` + id, "Ionescu", "ana@example.com", "Țară SRL", "3-months", "20400.5",
		} {
			if !strings.Contains(stored, part) {
				t.Errorf("the stored document lacks %s: %s", part, stored)
			}
		}
	}
}

func TestContractSubmitReportsEveryField(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	long := strings.Repeat("x", 101)
	for _, c := range []struct{ members, fields string }{
		{``, "contact.email contact.firstName contact.lastName estimate.currency estimate.max estimate.min " +
			"selections.projectType sessionId"},
		{
			`"sessionId": "a b", "locale": "xx", "contact": {"firstName": "` + long + `", "lastName": " ",
				"email": "ana@", "phone": "1234", "company": "` + long + `"},
			"selections": {"projectType": "Web App", "features": ["ok", "Bad"], "complexity": "-x",
				"timeline": "` + long[:65] + `"}, "estimate": {"min": 10, "max": 5, "currency": "euro"}`,
			"contact.company contact.email contact.firstName contact.lastName contact.phone estimate.currency estimate.min " +
				"locale selections.complexity selections.features[1] selections.projectType selections.timeline sessionId",
		},
	} {
		for _, endpoint := range apptest.Endpoints {
			input := object{}
			apptest.Change(input, c.members)
			got := s.SubmitThrough(endpoint, input)
			if got.Code != "BAD_USER_INPUT" || strings.Join(got.FieldNames(), " ") != c.fields ||
				got.RequestID == "" || endpoint == "REST" && got.Status != 400 {
				t.Errorf("got %s\nwant %v", got, c.fields)
			}
		}
	}

	if n := s.StoredLeads(); n != 0 {
		t.Errorf("%d leads are stored after rejected requests", n)
	}
}

func TestContractSubmitIgnoresUnknownFieldsOverREST(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	input := apptest.NewLead("s", `"utm": {"source": "x"}, "contact": {"nickname": "A"}`)

	if got := s.SubmitThrough("REST", input); got.Status != 200 {
		t.Errorf("REST: %s", got)
	}
	if got := s.SubmitThrough("GraphQL", input); strings.Count(
		got.Raw, `"code":"unknown_field"`) != 2 {
		t.Errorf("GraphQL: %s", got)
	}
}

// A repetition is recognized by its content, whatever the order of features and white space
// in it, or by the client's key.
func TestContractSubmitTwiceIsOneLead(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	const key = `Idempotency-Key: "key-1"`
	ids := map[string]string{}
	for i, tt := range []struct{ endpoint, changes, key, lead string }{
		{"REST", ``, "", "first"},
		{"GraphQL", ``, "", "first"},
		{"REST", `"contact": {"firstName": " Ana ", "email": " same@example.com"}`, "", "first"},
		{"REST", `"selections": {"features": ["shop", "blog", "shop"]}`, "", "first"},
		{"REST", `"estimate": {"max": 21000}`, "", "other amount"},
		{"GraphQL", `"contact": {"lastName": "Popa"}`, "", "other name"},
		{"REST", `"selections": {"features": ["blog"]}`, "", "other features"},
		{"REST", `"locale": "en"`, key, "with a key"},
		{"GraphQL", `"locale": "en"`, "Idempotency-Key: key-1", "with a key"},
		{"REST", `"sessionId": "else"`, key, "of another session"},
	} {
		headers := []string{tt.key}
		id := s.MustSubmit(tt.endpoint, apptest.NewLead("same", tt.changes), headers[:min(len(tt.key), 1)]...)
		if known := ids[tt.lead]; known != "" && known != id {
			t.Errorf("row %d is another lead: %s", i, tt.changes)
		}
		ids[tt.lead] = id
	}
	if n := s.StoredLeads(); n != 6 || len(ids) != n {
		t.Errorf("%d leads are stored, want 6", n)
	}
	if l := s.ShowLead(ids["first"]); l.Contact.FirstName != "Ana" || !slices.Equal(l.Selections.Features, []string{"blog", "shop"}) {
		t.Errorf("the lead is stored as %+v", l)
	}

	for _, endpoint := range apptest.Endpoints {
		got := s.SubmitThrough(endpoint, apptest.NewLead("same", `"locale": "es"`), key)
		if got.Code != "IDEMPOTENCY_KEY_REUSED" || !strings.Contains(got.Raw, "Send a new key for a new attempt") ||
			endpoint == "REST" && got.Status != 422 {
			t.Errorf("%s: the key with other content: %s", endpoint, got)
		}
	}
	if got := s.SubmitThrough("REST", apptest.NewLead("x"), "Idempotency-Key: "+strings.Repeat("k", 256)); got.Fields["Idempotency-Key"] == "" {
		t.Errorf("a key of 256 characters: %s", got)
	}
}

func TestContractNothingPersonalIsLogged(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t,
		"LOG_LEVEL=trace",
		"CACHE_API_TOKEN=sekret-cache",
		"CMS_WEBHOOK_SECRET=sekret-hook",
	)

	id := s.SubmitThrough("REST", apptest.ValidLead("s")).ID()
	s.TrackThrough("REST", object{"sessionId": "s", "formData": object{"email": "ana@example.com", "firstName": "Ana"}})
	s.SubmitThrough("GraphQL", object{"contact": object{"email": "ana@", "lastName": "Ionescu"}})
	s.Do("POST", "/api/cache/clear?all=true", "", "Authorization: Bearer sekret-cache")
	s.Do("POST", "/api/cache/clear?all=true", "", "Authorization: Bearer sekret-wrong")
	s.Do("GET", "/api/quote/pdf?id="+id+"&email=ana@example.com", "")

	s.Reaches(id, "cms", "delivered")
	s.Reaches(id, "crm", "delivered")

	log := s.Log.String()
	if !strings.Contains(log, `"path":"/api/quote/submit"`) {
		t.Fatal("the requests are not in the log")
	}

	// The id of a lead is secret too, because it gives access to the PDF.
	for _, secret := range []string{"ana@", "Ana\"", "Ionescu", "721 000", "Țară", "sekret", id} {
		if i := strings.Index(log, secret); i >= 0 {
			t.Errorf("the log contains %q: …%s…", secret, log[max(0, i-80):min(len(log), i+80)])
		}
	}
}

// A request id in a common format is accepted from every client. Any other short id of
// letters, digits and ".", "_" or "-" is accepted only from a trusted proxy, because ids
// are logged.
func TestContractRequestIDs(t *testing.T) {
	t.Parallel()
	const uuid, ulid = "0193a5c7-6b1e-7c3a-9f00-1234567890ab", "01JD8ZK3Q5X9V7T2B4N6M8R0CF"
	direct := apptest.Start(t)
	behind := apptest.Start(t, "TRUSTED_PROXIES=127.0.0.1")

	for id, accepted := range map[string]struct{ direct, behind bool }{
		uuid:                               {true, true},
		ulid:                               {true, true},
		"4bf92f3577b34da6a3ce929d0e0e4736": {true, true},
		"0721000111":                       {false, true},
		"ana@example.com":                  {false, false},
		`bad id"`:                          {false, false},
		strings.Repeat("7", 65):            {false, false},
	} {
		for s, want := range map[*apptest.Service]bool{direct: accepted.direct, behind: accepted.behind} {
			got := s.Do("GET", "/api/cache/clear", "", "X-Request-Id: "+id).Header.Get("X-Request-Id")
			if (got == id) != want || got == "" {
				t.Errorf("the id %q was returned as %q, want accepted: %v", id, got, want)
			}
		}
	}

	problem := direct.Do("GET", "/api/none", "", "X-Request-Id: "+uuid)
	failed := direct.Query(`{ nothing }`, nil, "X-Request-Id: "+uuid)
	for _, body := range [][]byte{problem.Body, failed.Body} {
		if !bytes.Contains(body, []byte(`"requestId":"`+uuid+`"`)) {
			t.Errorf("an error lacks the request id: %s", body)
		}
	}
	if n := strings.Count(direct.Log.String(), `"request_id":"`+ulid+`"`); n != 1 {
		t.Errorf("a request caused %d log events, want 1", n)
	}
}
