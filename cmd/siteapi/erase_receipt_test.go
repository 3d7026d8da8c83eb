package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// A receipt counts as erased only what was erased, and what could not be asked as unknown.
func TestReceiptWithTheCRMAway(t *testing.T) {
	t.Parallel()
	var deletes atomic.Int64
	var canFind atomic.Bool
	crm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case canFind.Load() && r.Method == http.MethodPost && filepath.Base(r.URL.Path) == "gdpr-delete":
			deletes.Add(1)
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"status":"error","category":"MISSING_SCOPES","message":"no"}`))
		case canFind.Load():
			contact := `{"id":"1","properties":{"email":"ana@example.com"}}`
			if r.Method == http.MethodPost {
				contact = `{"status":"COMPLETE","results":[` + contact + `]}`
			}
			_, _ = w.Write([]byte(contact))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(crm.Close)
	dir := t.TempDir()
	env := []string{"ENVIRONMENT=development", "DATA_DIR=" + dir, "CRM_DRIVER=hubspot", "HUBSPOT_TOKEN=t",
		"HUBSPOT_API_URL=" + crm.URL}
	service := launch(t, dir, env[2:]...)
	if status, answer := service.post("/api/quote/submit", validSubmission("hers")); status != 200 {
		t.Fatalf("%d %v", status, answer)
	}
	type place struct {
		Place, Unit, State string
		Found              *int
		Erased             int
	}
	erase := func(more ...string) map[string]place {
		t.Helper()
		path := filepath.Join(t.TempDir(), "receipt.json")
		args := append([]string{"leads", "erase", "--email", "ana@example.com", "--server", service.base, "--receipt", path}, more...)
		if out, code := command(t, env, args...); code != 1 {
			t.Errorf("%v: exit code %d, %s", more, code, out)
		}
		var receipt struct {
			Complete bool
			Places   []place
		}
		if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &receipt) != nil || receipt.Complete {
			t.Fatalf("%v %s", err, data)
		}
		places := map[string]place{}
		for _, p := range receipt.Places {
			places[p.Unit] = p
		}
		return places
	}
	for _, more := range [][]string{nil, {"--yes"}} {
		places := erase(more...)
		if p := places["contacts"]; p.Found != nil || p.Erased != 0 || p.State != "failed" {
			t.Errorf("%v: of the CRM, which can't be asked, it says %+v", more, p)
		}
		if p := places["submissions"]; p.Found == nil || *p.Found != 1 || p.Erased != 0 {
			t.Errorf("%v: of the database it says %+v", more, p)
		}
		if p := places["PDFs"]; p.Found != nil || p.Erased != 0 {
			t.Errorf("%v: of the cache, which was not asked, it says %+v", more, p)
		}
	}
	canFind.Store(true)
	if p := erase("--yes")["contacts"]; p.Found == nil || *p.Found != 1 || p.Erased != 0 || p.State != "failed" ||
		deletes.Load() == 0 {
		t.Errorf("of the CRM, which does not delete, it says %+v after %d tries", p, deletes.Load())
	}
}
