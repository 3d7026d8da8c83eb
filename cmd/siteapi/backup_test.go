package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// at returns the settings of a command for a data folder.
func at(dir string, more ...string) []string {
	return append([]string{"ENVIRONMENT=development", "DATA_DIR=" + dir}, more...)
}

// contents returns every file below a folder but the locks, with what it holds.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "run" {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// storedLeads returns the ids of the leads in a data folder.
func storedLeads(t *testing.T, dir string) []string {
	t.Helper()
	out, code := command(t, at(dir), "leads", "list", "--json")
	var list []listedLead
	if code != 0 || json.Unmarshal([]byte(out), &list) != nil {
		t.Fatalf("%d %s", code, out)
	}
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	return ids
}

// A backup taken while visitors write holds every lead that was acknowledged before it
// began, and a service goes on from it as if nothing had been.
func TestBackupBesideAWriter(t *testing.T) {
	t.Parallel()
	dir, backups := t.TempDir(), t.TempDir()
	r := launch(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var acknowledged []string
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				session := fmt.Sprintf("writer-%d-%d", c, i)
				_, _ = r.post("/api/quote/track", object{"sessionId": session, "selections": object{"projectType": "web-app"}})
				status, answer := r.post("/api/quote/submit", lead(session))
				if status != http.StatusOK {
					t.Errorf("submit beside a backup: %d %v", status, answer)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, answer["submissionId"].(string))
				mu.Unlock()
			}
		})
	}
	known := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(acknowledged)
	}
	before := map[string][]string{}
	for n := range 3 {
		eventually(t, "visitors write", func() bool { return len(known()) > 20*(n+1) })
		path := filepath.Join(backups, fmt.Sprintf("backup-%d.tar.gz", n))
		before[path] = known()
		out, code := command(t, at(dir), "backup", "--output", path)
		if code != 0 || !strings.Contains(out, "submissions") {
			t.Fatalf("%d %s", code, out)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}
	stop()
	wg.Wait()
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopping: %v", err)
	}
	for path, ids := range before {
		fresh := filepath.Join(t.TempDir(), "data")
		out, code := command(t, at(fresh), "restore", "--from", path)
		if code != 0 || !strings.Contains(out, "restored the backup of 20") || strings.Contains(out, asideMark) {
			t.Fatalf("%d %s", code, out)
		}
		held := storedLeads(t, fresh)
		for _, id := range ids {
			if !slices.Contains(held, id) {
				t.Errorf("%s: the lead %s was acknowledged before and is missing", filepath.Base(path), id)
			}
		}
		again := launch(t, fresh)
		resp, err := http.Get(again.base + "/api/quote/pdf?id=" + ids[0])
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the PDF of a restored lead: %v %v", resp, err)
		}
		s := &service{t: t, dataDir: fresh}
		eventually(t, "deliveries go on where they were", func() bool { return len(s.files("cms")) >= len(held) })
		if err := again.end(syscall.SIGTERM); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(backups, ".*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestRestoreKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir)
	_, answer := r.post("/api/quote/submit", lead("first"))
	first := answer["submissionId"].(string)
	s := &service{t: t, dataDir: dir}
	eventually(t, "it arrives", func() bool { return len(s.files("cms")) == 1 && len(s.files("crm")) == 1 })
	content := filepath.Join(dir, "content.json")
	edit := func(text string) {
		data, err := os.ReadFile(content)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.Replace(data, []byte("hello@lumen-studio.example"), []byte(text), 1)
		if err := os.WriteFile(content, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit("then@lumen.example")
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if out, code := command(t, at(dir), "backup", "-o", path); code != 0 || !strings.Contains(out, ": 1 submissions, 0 sessions, 3 other files") {
		t.Fatalf("%d %s", code, out)
	}
	if out, code := command(t, at(dir), "backup", "-o", path); code == 0 || !strings.Contains(out, "--overwrite") {
		t.Errorf("a backup overwrote another: %d %s", code, out)
	}
	_, answer = r.post("/api/quote/submit", lead("second"))
	second := answer["submissionId"].(string)
	if out, code := command(t, at(dir), "backup", "-o", path+"2"); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	if out, code := command(t, at(dir), "restore", "--from", path); code != exitFailed || !strings.Contains(out, "in use") {
		t.Errorf("restoring beside a service: %d %s", code, out)
	}
	if status, _ := r.post("/api/quote/submit", lead("third")); status != http.StatusOK {
		t.Errorf("the service after that answers %d", status)
	}
	eventually(t, "they arrive", func() bool { return len(s.files("cms")) == 3 && len(s.files("crm")) == 3 })
	if err := r.end(syscall.SIGKILL); err == nil { // its log is not copied back, its lock file is left
		t.Fatal("not killed")
	}
	out, code := command(t, at(dir), "restore", "--from", path)
	if code != 0 || !strings.Contains(out, "1 submissions") || !strings.Contains(out, "repeat those erasures") {
		t.Fatalf("%d %s", code, out)
	}
	aside := regexp.MustCompile(asideMark + `[0-9T.Z]+`).FindString(out)
	if got := storedLeads(t, dir); !slices.Equal(got, []string{first}) || len(s.files("cms")) != 1 || len(s.files("crm")) != 1 {
		t.Errorf("restored are %q, %q, %q", got, s.files("cms"), s.files("crm"))
	}
	if data, err := os.ReadFile(content); err != nil || !bytes.Contains(data, []byte("then@lumen.example")) {
		t.Errorf("the content is not that of the backup (%v)", err)
	}
	// What was there is whole, with what only the log had held.
	old := filepath.Join(dir, aside)
	if got := storedLeads(t, old); len(got) != 3 || !slices.Contains(got, second) {
		t.Errorf("kept aside are %q", got)
	}
	if names, _ := os.ReadDir(filepath.Join(old, "cms")); len(names) != 3 {
		t.Errorf("%d documents are kept aside", len(names))
	}
	// Once more, with the newer one; and by standard input.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `"$0" restore --from - < "$1"`, binary, path+"2")
	cmd.Env = append(os.Environ(), at(dir)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if got := storedLeads(t, dir); len(got) != 2 {
		t.Errorf("restored are %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, asideMark+"*")); len(left) != 2 {
		t.Errorf("kept aside are %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, snapshotMark+"*")); len(left) != 0 {
		t.Errorf("left behind are %q", left)
	}
}

// What the far ends hold is theirs to keep.
func TestBackupWithRemoteDrivers(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	files := startService(t, nil, quick)
	files.submit(t, "local")
	eventually(t, "it arrives", func() bool { return len(files.files("cms")) == 1 && len(files.files("crm")) == 1 })
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if out, err := files.siteapi("backup", "-o", path); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	remote := startService(t, far.env(), quick)
	remote.stop()
	out, err := remote.siteapi("restore", "--from", path)
	if err != nil || !strings.Contains(out, "left out, for the drivers in use have no place for it: content.json, cms, crm") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := remote.siteapi("backup", "-o", path+"2"); err != nil || !strings.Contains(out, "1 submissions, 0 sessions, 0 other files") {
		t.Errorf("%v %s", err, out)
	}
}

// The content may lie where CMS_FILE says.
func TestBackupOfAContentFileElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "site.json")
	if err := os.WriteFile(file, []byte(`[{"_id":"siteSettings","_type":"siteSettings","contactEmail":"then@x.example"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, map[string]string{"CMS_FILE": file}, quick)
	path := filepath.Join(dir, "b.tar.gz")
	if out, err := s.siteapi("backup", "-o", path); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s.stop()
	if err := os.WriteFile(file, []byte(`[]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.siteapi("restore", "--from", path); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "then@x.example") {
		t.Errorf("%v %s", err, data)
	}
	old, _ := filepath.Glob(filepath.Join(s.dataDir, asideMark+"*", contentName))
	if len(old) != 1 {
		t.Errorf("kept aside: %q", old)
	}
}

// The lines for PostgreSQL's own tools work as they are printed.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	database := server.NewDatabase(t)
	s := startService(t, map[string]string{"DATABASE_URL": database + "&pool_max_conns=7"}, quick)
	id := s.submit(t, "dumped")
	eventually(t, "it arrives", func() bool { return len(s.files("cms")) == 1 && s.deliveries(id)["crm"].State == "delivered" })
	dump := filepath.Join(t.TempDir(), "it's a dump")
	shell := func(err error, prefix string) {
		t.Helper()
		if err == nil {
			t.Fatal("nothing was refused")
		}
		_, line, ok := strings.Cut(err.Error(), prefix)
		if !ok {
			t.Fatalf("no line in %v", err)
		}
		line, _, _ = strings.Cut(prefix+line, "\n")
		tools, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env = append(os.Environ(), "PATH="+strings.Join(tools, ":")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}
	_, err := s.siteapi("backup", "-o", dump)
	shell(err, "pg_dump ")
	s.siteapi("leads", "erase", "--email", "dumped@example.com", "--yes", "--server", s.base)
	if s.has(t, id) {
		t.Fatal("the lead is not gone")
	}
	s.stop()
	_, err = s.siteapi("restore", "--from", dump)
	shell(err, "pg_restore ")
	s.start()
	if !s.has(t, id) {
		t.Error("the lead is not back")
	}
	for given, want := range map[string]string{
		"postgres://u:secret@h:5/d?sslmode=require&pool_max_conns=3":           "postgres://u@h:5/d?sslmode=require",
		"postgres://h/d?user=u&password=secret&statement_cache_capacity=1&x=1": "postgres://h/d?user=u&x=1",
	} {
		out, err := s.siteapiWith(map[string]string{"DATABASE_URL": given}, "backup")
		if err == nil || !strings.Contains(err.Error(), "pg_dump --format=custom --no-owner --file='siteapi.dump' '"+want+"'\n") ||
			strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "PGPASSWORD") {
			t.Errorf("%v %s", err, out)
		}
	}
}
