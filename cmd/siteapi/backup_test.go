package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"time"

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

// rebuilt changes the entries of a backup and returns it.
func rebuilt(t *testing.T, archive []byte, change func(h *tar.Header, data []byte) (keep bool, changed []byte), more ...tar.Header) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	from, to := tar.NewReader(z), tar.NewWriter(w)
	for {
		h, err := from.Next()
		if err == io.EOF {
			break
		}
		data, readErr := io.ReadAll(from)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		keep, data := change(h, data)
		if !keep {
			continue
		}
		h.Size = int64(len(data))
		if err := to.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range more {
		if err := to.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		_, _ = to.Write(bytes.Repeat([]byte("x"), int(h.Size)))
	}
	if to.Close() != nil || w.Close() != nil {
		t.Fatal("closing")
	}
	return out.Bytes()
}

// Nothing is touched unless the whole backup is found to be good.
func TestRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir)
	for i := range 20 {
		r.post("/api/quote/submit", lead(fmt.Sprint("d-", i)))
	}
	s := &service{t: t, dataDir: dir}
	eventually(t, "they arrive", func() bool { return len(s.files("cms")) == 20 && len(s.files("crm")) == 20 })
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if out, code := command(t, at(dir), "backup", "-o", path); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same := func(_ *tar.Header, data []byte) (bool, []byte) { return true, data }
	in := func(name string, edit func([]byte) []byte) func(*tar.Header, []byte) (bool, []byte) {
		return func(h *tar.Header, data []byte) (bool, []byte) {
			if h.Name == name {
				data = edit(bytes.Clone(data))
			}
			return true, data
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(data []byte) []byte { data[at%len(data)] ^= 0x40; return data }
	}
	manifest := func(old, new string) []byte {
		return rebuilt(t, good, in(manifestName, func(data []byte) []byte {
			changed := regexp.MustCompile(old).ReplaceAll(data, []byte(new))
			if bytes.Equal(changed, data) {
				t.Errorf("%s changes nothing", old)
			}
			return changed
		}))
	}
	without := func(name string) []byte {
		return rebuilt(t, good, func(h *tar.Header, data []byte) (bool, []byte) { return h.Name != name, data })
	}
	extra := func(name string, kind byte) []byte {
		h := tar.Header{Name: name, Typeflag: kind, Mode: 0o600}
		if kind == tar.TypeReg {
			h.Size = 3
		} else {
			h.Linkname = "/etc/passwd"
		}
		return rebuilt(t, good, same, h)
	}
	before := contents(t, dir)
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":                {nil, "no backup"},
		"no archive":             {[]byte("hello"), "no backup"},
		"gzip of something":      {gzipped(t, "hello"), "damaged or cut short"},
		"gzip of nothing":        {gzipped(t, ""), "damaged or cut short"},
		"cut at the beginning":   {good[:100], "damaged or cut short"},
		"cut in the middle":      {good[:len(good)/2], "damaged or cut short"},
		"cut at the end":         {good[:len(good)-4], "damaged or cut short"},
		"a byte of the archive":  {flip(len(good) / 2)(bytes.Clone(good)), ""},
		"a byte of the database": {rebuilt(t, good, in(databaseFile, flip(9000))), "not the one that was written"},
		"no manifest":            {without(manifestName), "no manifest"},
		"no database":            {without(databaseFile), "none of this service's"},
		"a manifest of another":  {manifest(`"siteapi"`, `"other"`), "not ours"},
		"a broken manifest":      {manifest(`\{`, `[`), "not ours"},
		"a later format":         {manifest(`"format": 1`, `"format": 2`), "has format 2"},
		"another count":          {manifest(`"submissions": 20`, `"submissions": 21`), "holds 20 submissions"},
		"a way out":              {extra("../x.json", tar.TypeReg), "none of this service's"},
		"a way out of a folder":  {extra("cms/../../x.json", tar.TypeReg), "none of this service's"},
		"a folder in a folder":   {extra("cms/a/b.json", tar.TypeReg), "none of this service's"},
		"another file":           {extra("run.sh", tar.TypeReg), "none of this service's"},
		"a link":                 {extra("cms/x.json", tar.TypeSymlink), "none of this service's"},
		"a second database":      {extra(databaseFile, tar.TypeReg), "unpacking the backup"},
	} {
		bad := filepath.Join(t.TempDir(), "bad.tar.gz")
		if err := os.WriteFile(bad, c.archive, 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := command(t, at(dir), "restore", "--from", bad)
		if code != exitFailed || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s, want %q", name, code, out, c.want)
		}
		if after := contents(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: the data folder is changed", name)
		}
	}
	if out, code := command(t, at(dir), "restore", "--from", path); code != 0 {
		t.Errorf("the good one: %d %s", code, out)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A restore that fails in the middle puts everything back.
func TestRestoreTakesBack(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if out, err := s.siteapi("backup", "-o", path); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s.stop()
	settings := s.app.settings
	before := contents(t, s.dataDir)
	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	r, err := unpack(t.Context(), settings, archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.fresh, databaseFile)); err != nil { // the last step will fail
		t.Fatal(err)
	}
	if err := r.swap(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing was restored") {
		t.Errorf("%v", err)
	}
	r.discard()
	after := contents(t, s.dataDir)
	for name, data := range before {
		if name != databaseFile && !strings.HasPrefix(name, databaseFile+"-") && after[name] != data {
			t.Errorf("%s is not what it was", name)
		}
	}
	for name := range after {
		if strings.Contains(name, asideMark) || strings.Contains(name, snapshotMark) {
			t.Errorf("%s is left behind", name)
		}
	}
	s.start()
	if n, err := s.app.data.archive.CountSubmissions(t.Context()); err != nil || n != 3 {
		t.Errorf("%d submissions, %v", n, err)
	}
}

// A database that can't be read any more is the best reason for a restore.
func TestRestoreOverARuin(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if out, err := s.siteapi("backup", "-o", path); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s.stop()
	ruin := strings.Repeat("not a database ", 1000)
	if err := os.WriteFile(filepath.Join(s.dataDir, databaseFile), []byte(ruin), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.siteapi("backup", "-o", path+"2"); err == nil {
		t.Errorf("a ruin was backed up: %s", out)
	}
	out, err := s.siteapi("restore", "--from", path)
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	kept, _ := filepath.Glob(filepath.Join(s.dataDir, asideMark+"*", databaseFile))
	if len(kept) != 1 {
		t.Fatalf("kept aside: %q", kept)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != ruin {
		t.Errorf("the ruin was not kept: %v", err)
	}
	s.start()
	if n, err := s.app.data.archive.CountSubmissions(t.Context()); err != nil || n != 3 {
		t.Errorf("%d submissions, %v", n, err)
	}
}

// A service that starts while a restore is under way waits for it.
func TestStartBesideARestore(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.stop()
	claim, err := claimDatabase(s.app.settings)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimDatabase(s.app.settings); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two restores at once: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := openDatabase(ctx, s.app.settings, work{}, s.app.log); err == nil || !strings.Contains(err.Error(), "restore is under way") {
		t.Errorf("opening beside a restore: %v", err)
	}
	released := make(chan error)
	go func() {
		time.Sleep(300 * time.Millisecond)
		released <- claim.Close()
	}()
	s.start()
	if err := <-released; err != nil {
		t.Error(err)
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

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	empty := map[string]string{"DATA_DIR": t.TempDir()}
	for _, c := range []struct {
		args string
		env  map[string]string
		want string
	}{
		{"backup", nil, "--output: name the file"},
		{"backup -o x y", nil, "one argument too many"},
		{"backup -o " + t.TempDir() + "/b", empty, "there is no database"},
		{"backup -o /nowhere/b", nil, "making room"},
		{"restore", nil, "--from: name the backup"},
		{"restore --from /nowhere/b", nil, "--from: "},
		{"restore --from x y", nil, "one argument too many"},
	} {
		if out, err := s.siteapiWith(c.env, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q\n%s", c.args, err, c.want, out)
		}
	}
	// What a killed backup left is swept once it is old.
	old, young := filepath.Join(s.dataDir, snapshotMark+"old"), filepath.Join(s.dataDir, snapshotMark+"young")
	for path, age := range map[string]time.Duration{old: 25 * time.Hour, young: time.Hour} {
		then := time.Now().Add(-age)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.siteapi("backup", "-o", "-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readArchive(strings.NewReader(out), func(string, io.Reader) error { return nil }); err != nil {
		t.Errorf("the backup on standard output: %v", err)
	}
	if exists(old) || !exists(young) {
		t.Error("the sweep took the wrong one")
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
