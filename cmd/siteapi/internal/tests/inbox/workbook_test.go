package inbox

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// workbook requests a workbook of the inbox, and returns the response with its body.
func workbook(b *apptest.Browser, query string, headers ...string) (*http.Response, []byte, error) {
	b.T.Helper()
	if b.Cookie != nil {
		headers = append(headers, "Cookie: "+b.Cookie.Name+"="+b.Cookie.Value)
	}
	resp, err := apptest.Send(b.T.Context(), apptest.HTTP, "GET", b.Base+"/admin/leads.xlsx?"+query, "", headers...)
	must(b.T, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// stored returns a lead of a number of minutes ago.
func stored(name string, minutes int) lead.Lead {
	return lead.Lead{
		ID:          fmt.Sprintf("%s-%08d", name, minutes),
		SessionID:   fmt.Sprint(name, minutes),
		Contact:     lead.Contact{FirstName: name, LastName: "Pop", Email: name + "@example.com", Phone: "+40721000111"},
		Selections:  lead.Selections{ProjectType: "web-app"},
		Estimate:    lead.Estimate{Min: 1200.5, Max: 2000, Currency: "EUR"},
		Locale:      "ro",
		SubmittedAt: time.Now().UTC().Truncate(time.Millisecond).Add(-time.Duration(minutes) * time.Minute),
	}
}

func TestWorkbook(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	s := apptest.NewSite(t, "ADMIN_ADDR="+admin, "TIME_ZONE=Europe/Bucharest",
		"ADMIN_TOKENS=see:viewer:see-0123456789abcdef,sell:sales:sell-0123456789abcdef")
	list := []lead.Lead{stored("ana", 30), stored("eve", 10)}
	for i := range 200 { // more than a page
		list = append(list, stored("many", 1000+i))
	}
	s.Store(nil, list...)
	s.Start()
	stranger, viewer, b := apptest.NewBrowser(t, admin), apptest.NewBrowser(t, admin), apptest.NewBrowser(t, admin)
	logIn(viewer, "see-0123456789abcdef")
	logIn(b, "sell-0123456789abcdef")

	for _, refused := range []struct {
		by     *apptest.Browser
		query  string
		status int
		code   schema.Code
	}{
		{stranger, "", 401, schema.CodeUnauthenticated},
		{viewer, "", 403, schema.CodeForbidden},
		{b, "state=LOST", 400, schema.CodeBadUserInput},
		{b, "since=soon", 400, schema.CodeBadUserInput},
		{b, "locale=ro&locale=es", 400, schema.CodeBadUserInput},
		{b, "language=fr", 400, schema.CodeBadUserInput},
		{b, "owner=nobody@example.com", 400, schema.CodeBadUserInput},
	} {
		resp, body, err := workbook(refused.by, refused.query)
		if err != nil || resp.StatusCode != refused.status || !strings.Contains(string(body), `"`+string(refused.code)+`"`) {
			t.Errorf("%s: %d %s %v", refused.query, resp.StatusCode, body, err)
		}
	}

	resp, body, err := workbook(b, "search=pop+ana&state=UNDER_WAY&results=WON&results=OPEN&sort=NEWEST&amountFrom=1200.5&owner=&language=es")
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(resp.Header.Get("Content-Disposition"), `attachment; filename="leads-20`) {
		t.Fatalf("%v %d %v", err, resp.StatusCode, resp.Header)
	}
	entries := s.AuditEntries()
	want := `EXPORTED  {"amountFrom":1200.5,"count":1,"owner":"","results":["WON","OPEN"],"searched":true,"state":"UNDER_WAY"}`
	if last := entries[len(entries)-1]; last != want {
		t.Errorf("the audit has %s", last)
	}

	// The whole list, and in the language of the browser.
	_, all, err := workbook(b, "sort=NEWEST", "Accept-Language: ro-RO,ro;q=0.9,en;q=0.5")
	must(t, err)
	s.Damage(fmt.Sprintf(`UPDATE leads SET body = '{' WHERE id = '%s'`, list[len(list)-1].ID))
	if resp, part, err := workbook(b, "sort=NEWEST"); err == nil {
		t.Errorf("a part of the list is a whole file: %d, %d bytes", resp.StatusCode, len(part))
	}

	rows := apptest.OpenWorkbook(t, body)
	zone, err := time.LoadLocation("Europe/Bucharest")
	must(t, err)
	at := list[0].SubmittedAt.In(zone).Format("2006-01-02 15:04")
	if len(rows) != 2 || rows[0][0] != "Referencia" || rows[1][1] != at || !slices.Contains(rows[1], "+40721000111") ||
		!slices.Contains(rows[1], "1,200.50") {
		t.Errorf("the workbook has %q, want a lead of %s", rows, at)
	}
	if rows := apptest.OpenWorkbook(t, all); len(rows) != 1+len(list) || rows[0][0] != "Referință" ||
		rows[1][0] != lead.Reference(list[1].ID) || rows[2][0] != lead.Reference(list[0].ID) {
		t.Errorf("the workbook of all leads has %d rows", len(rows))
	}
}
