package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"
)

// An Idempotency-Key stands for the content it first came with: again with the same it
// gives the same lead, with other content it is refused and nothing is stored.
func TestIdempotencyKeyStandsForItsContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir)
	submit := func(email, key string) (status int, answer map[string]any) {
		t.Helper()
		input := validSubmission("s-1")
		input["contact"].(object)["email"] = email
		body, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		got := r.do(http.MethodPost, "/api/quote/submit", string(body), "Idempotency-Key: "+key)
		if err := json.Unmarshal(got.body, &answer); err != nil {
			t.Fatal(err)
		}
		return got.status, answer
	}
	_, first := submit("ana@example.com", "k1")
	if _, again := submit("ana@example.com", "k1"); again["submissionId"] == nil || again["submissionId"] != first["submissionId"] {
		t.Errorf("the same content again gives %v, want %v", again, first)
	}
	status, refused := submit("typo@example.com", "k1")
	detail, _ := refused["detail"].(string)
	if status != http.StatusUnprocessableEntity || refused["code"] != "IDEMPOTENCY_KEY_REUSED" || !strings.Contains(detail, "Send a new key for a new attempt") {
		t.Errorf("other content under the same key: %d %v", status, refused)
	}
	if status, answer := submit("typo@example.com", "k2"); status != http.StatusOK || answer["submissionId"] == first["submissionId"] {
		t.Errorf("a new key: %d %v", status, answer)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := emails(t, filepath.Join(dir, "siteapi.db"), 0); got != "ana@example.com typo@example.com" {
		t.Errorf("stored: %s", got)
	}
}

// A database of an earlier release keeps what it holds: content that came under a used
// key becomes a lead in review.
func TestMigratesRepetitionsToLeadsInReview(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "siteapi.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	body := func(id, email string) string {
		return `{"id":"` + id + `","sessionId":"s-1","contact":{"firstName":"Ana","lastName":"Pop","email":"` + email + `"},` +
			`"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"},"submittedAt":"2026-01-01T00:00:00Z"}`
	}
	script := "PRAGMA journal_mode = WAL; CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL);"
	for _, name := range []string{"0001_quotes.sql", "0002_held.sql"} {
		text, err := os.ReadFile("../../integrations/store/internal/sqlstore/migrations/sqlite/" + name)
		if err != nil {
			t.Fatal(err)
		}
		script += string(text) + "INSERT INTO store_migrations VALUES (" + strings.TrimLeft(name[:4], "0") + ", '" + name + "');"
	}
	script += `INSERT INTO submissions (id, session_id, email, body, content_key, submitted_at) VALUES ('first', 's-1', 'ana@example.com', '` +
		body("first", "ana@example.com") + `', 'c1', 1);
INSERT INTO submission_keys VALUES ('k', 'first', 1);
INSERT INTO submission_repeats VALUES ('first', 'c2', 'k', '` + body("second", "Other@example.com") + `', 2);`
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := launch(t, dir)
	if got := r.do(http.MethodGet, "/api/quote/pdf?id=second", ""); got.status != http.StatusOK {
		t.Errorf("the PDF of what was a repetition: %d", got.status)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := emails(t, path, 0) + ", in review: " + emails(t, path, 1); got != "ana@example.com, in review: other@example.com" {
		t.Errorf("stored: %s", got)
	}
}

// emails returns the addresses of the leads in a database file.
func emails(t *testing.T, path string, inReview int) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var list string
	err = db.QueryRowContext(t.Context(), `SELECT coalesce(group_concat(email, ' '), '') FROM
(SELECT email FROM submissions WHERE held = ? ORDER BY submitted_at, id)`, inReview).Scan(&list)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
