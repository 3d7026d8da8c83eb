package commands

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/command"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// contents returns the contents of every file of the data folder but the locks, by path.
func contents(s *apptest.Site) map[string]string {
	s.T.Helper()
	files := map[string]string{}

	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "run":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return files
}

// stored returns the ids of the leads in the database.
func stored(s *apptest.Site) (ids []string) {
	s.T.Helper()
	var list []struct{ ID string }
	s.JSON(&list, "leads", "list")
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	return ids
}

// arrived waits until so many leads are in the files of the file drivers.
func arrived(s *apptest.Site, n int) {
	s.T.Helper()
	files := &apptest.Service{T: s.T, DataDir: s.Dir}
	apptest.Eventually(s.T, fmt.Sprintf("%d leads arrive", n), func() bool {
		return len(files.Files("cms")) == n && len(files.Files("crm")) == n
	})
}

// A backup taken while visitors write holds every lead that was acknowledged before it.
func TestBackupWhileVisitorsWrite(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()

	var mu sync.Mutex
	var acknowledged []string
	known := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(acknowledged)
	}

	done := make(chan struct{})
	var visitors sync.WaitGroup
	for v := range 4 {
		visitors.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}

				status, reply := s.Post("/api/quote/submit", apptest.NewLead(fmt.Sprintf("v%d-%d", v, i)))
				if status != 200 {
					t.Errorf("submit beside a backup: %d %v", status, reply)
					return
				}

				mu.Lock()
				acknowledged = append(acknowledged, reply["submissionId"].(string))
				mu.Unlock()
			}
		})
	}

	path := filepath.Join(t.TempDir(), "b.tar.gz")
	apptest.Eventually(t, "visitors write", func() bool { return len(known()) > 40 })

	before := known()
	out, code := s.Run("backup", "--output", path)
	close(done)
	visitors.Wait()

	if info, err := os.Stat(path); code != 0 || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%d %s %v", code, out, err)
	}

	s.Stop(t)
	fresh := apptest.NewSite(t)
	says(fresh, said{"restore --from " + path, "restored the backup of 20 | deliveries verify", ""})

	held := stored(fresh)
	for _, id := range before {
		if !slices.Contains(held, id) {
			t.Errorf("the lead %s was acknowledged before the backup and is missing", id)
		}
	}

	fresh.Start()
	if status := pdf(fresh, before[0]); status != 200 {
		t.Errorf("the PDF of a restored lead answers %d", status)
	}

	var deliveries []schema.Delivery
	if fresh.JSON(&deliveries, "deliveries", "list", "--state", "all"); len(deliveries) != 4*len(held) {
		t.Errorf("%d leads were restored with %d deliveries", len(held), len(deliveries))
	}

	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A backup is put back into an empty folder. What is in another one stays as it is.
func TestRestoreIntoAnEmptyFolder(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	first := s.Submit("first")
	arrived(s, 1)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	says(s, said{"backup -o " + path, ": 1 leads, 0 sessions", ""})
	s.Refuses(map[string]string{"backup -o " + path: "--overwrite"})
	s.Submit("second")
	arrived(s, 2)
	s.Refuses(map[string]string{"restore --from " + path: "in use"})

	s.Stop(t)
	before := contents(s)
	s.Refuses(map[string]string{"restore --from " + path: "has content.json already"})
	if after := contents(s); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a folder that is not empty was changed")
	}

	// From standard input.
	fresh := apptest.NewSite(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `"$0" restore --from - < "$1"`, apptest.Binary, path)
	cmd.Env = fresh.Env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "repeat those erasures") {
		t.Fatalf("%v %s", err, out)
	}
	arrived(fresh, 1)
	if got := stored(fresh); !slices.Equal(got, []string{first}) {
		t.Errorf("restored are %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(fresh.Dir, ".siteapi-backup-*")); len(left) != 0 {
		t.Errorf("left behind are %q", left)
	}
}

// A restore by root gives what it makes to the owner of DATA_DIR, as whom the service runs.
func TestRestoreByRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("files are given away by root only")
	}

	const owner, group = 65534, 65533
	s := apptest.NewSite(t).Start()
	s.Submit("first")
	arrived(s, 1)
	s.Stop(t)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	says(s, said{"backup -o " + path, "", ""})

	fresh := apptest.NewSite(t)
	if err := os.Chown(fresh.Dir, owner, group); err != nil {
		t.Fatal(err)
	}
	says(fresh, said{"restore --from " + path, "1 leads", ""})

	found := 0
	err := filepath.WalkDir(fresh.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		found++
		if of := info.Sys().(*syscall.Stat_t); of.Uid != owner || of.Gid != group {
			t.Errorf("%s is of %d:%d", path, of.Uid, of.Gid)
		}
		return nil
	})
	if err != nil || found < 5 {
		t.Errorf("%d files: %v", found, err)
	}
}

// rebuilt changes the files of a backup and returns it. A nil content drops a file.
func rebuilt(
	t *testing.T, archive []byte, change func(name string, data []byte) []byte, more ...tar.Header,
) []byte {
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
		if err != nil {
			t.Fatal(err)
		}

		data, _ := io.ReadAll(from)
		if data = change(h.Name, data); data != nil {
			h.Size = int64(len(data))
			_ = to.WriteHeader(h)
			_, _ = to.Write(data)
		}
	}

	for _, h := range more {
		_ = to.WriteHeader(&h)
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
	s := apptest.NewSite(t).Start()

	for i := range 20 {
		s.Submit(fmt.Sprint("d-", i))
	}
	arrived(s, 20)
	s.Stop(t)

	path := filepath.Join(t.TempDir(), "b.tar.gz")
	says(s, said{"backup -o " + path, "", ""})
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	edited := func(name string, edit func([]byte) []byte) []byte {
		return rebuilt(t, good, func(file string, data []byte) []byte {
			if file == name {
				return edit(bytes.Clone(data))
			}
			return data
		})
	}

	drop := func([]byte) []byte { return nil }
	flip := func(at int) func([]byte) []byte {
		return func(data []byte) []byte { data[at%len(data)] ^= 0x40; return data }
	}

	extra := func(name string, kind byte) []byte {
		h := tar.Header{Name: name, Typeflag: kind, Mode: 0o600}
		if kind == tar.TypeReg {
			h.Size = 3
		} else {
			h.Linkname = "/etc/passwd"
		}
		return rebuilt(t, good, func(_ string, data []byte) []byte { return data }, h)
	}

	s = apptest.NewSite(t)
	before := contents(s)
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":                {nil, "not a backup"},
		"no archive":             {[]byte("hello"), "not a backup"},
		"cut in the middle":      {good[:len(good)/2], "damaged or cut short"},
		"cut at the end":         {good[:len(good)-4], "damaged or cut short"},
		"a byte of the archive":  {flip(len(good) / 2)(bytes.Clone(good)), ""},
		"a byte of the database": {edited(command.DatabaseFile, flip(8192)), "can't be used"},
		"no database":            {edited(command.DatabaseFile, drop), "can't be used"},
		"a way out":              {extra("../x.json", tar.TypeReg), "not a backup"},
		"a folder in a folder":   {extra("cms/a/b.json", tar.TypeReg), "not a backup"},
		"another file":           {extra("run.sh", tar.TypeReg), "not a backup"},
		"a link":                 {extra("cms/x.json", tar.TypeSymlink), "not a backup"},
		"a second database":      {extra(command.DatabaseFile, tar.TypeReg), "damaged"},
	} {
		bad := filepath.Join(t.TempDir(), "bad.tar.gz")
		if err := os.WriteFile(bad, c.archive, 0o600); err != nil {
			t.Fatal(err)
		}

		if out, code := s.Run("restore", "--from", bad); code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d %s, want %q", name, code, out, c.want)
		}
		if fmt.Sprint(contents(s)) != fmt.Sprint(before) {
			t.Errorf("%s: the data folder is changed", name)
		}
	}
}

// With PostgreSQL the commands print the lines for its own tools, which work as printed.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	for name, parameters := range map[string]string{
		"plain": "",
		"parameters of the service": "&pool_max_conns=10&default_query_exec_mode=cache_describe" +
			"&statement_timeout=4s&options=-c%20geqo%3Doff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backUpPostgres(t, server.NewDatabase(t)+parameters)
		})
	}
}

func backUpPostgres(t *testing.T, database string) {
	t.Helper()
	if !strings.Contains(database, "?") {
		database = strings.Replace(database, "&", "?", 1)
	}
	s := apptest.NewSite(t, "DATABASE_URL="+database).Start()
	id := s.Submit("dumped")
	s.Arrives(id)
	folder := t.TempDir()

	shell := func(prefix string, args ...string) error {
		t.Helper()
		out, code := s.Run(args...)
		_, line, found := strings.Cut(out, prefix)
		if code != 1 || !found {
			t.Fatalf("no line in %d %s", code, out)
		}
		line, _, _ = strings.Cut(prefix+line, "\n")

		tools, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = folder, append(s.Env, "PATH="+strings.Join(tools, ":")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w %s", line, err, out)
		}
		return nil
	}

	s.Run("leads", "show", id)
	head := s.AuditHead()
	if err := shell("pg_dump ", "backup", "-o", "x"); err != nil {
		t.Fatal(err)
	}
	s.Run("leads", "erase", "--email", "dumped@example.com", "--yes", "--server", s.Base)
	if len(stored(s)) != 0 {
		t.Fatal("the lead is not gone")
	}

	s.Stop(t)
	if err := shell("pg_restore ", "restore", "--from", "x"); err != nil {
		t.Fatal(err)
	}
	if got := stored(s); !slices.Equal(got, []string{id}) {
		t.Errorf("restored are %q", got)
	}
	s.HasAudit(head)

	// A dump that fails leaves the one before, and a printed address has no password.
	then, _ := os.ReadFile(filepath.Join(folder, "siteapi.dump"))
	s.Env = append(s.Env, "DATABASE_URL=postgres://me:hush@127.0.0.1:1/none?pool_max_conns=1&password=hush")
	err := shell("pg_dump ", "backup", "-o", "x")
	now, _ := os.ReadFile(filepath.Join(folder, "siteapi.dump"))
	if err == nil || !strings.Contains(err.Error(), "refused") || !bytes.Equal(now, then) || len(then) == 0 {
		t.Errorf("%v; the dump has %d bytes after %d", err, len(now), len(then))
	}
	if out, _ := s.Run("backup"); strings.Contains(out, "hush") || !strings.Contains(out, "PGPASSWORD") {
		t.Errorf("it says %s", out)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	s.Refuses(map[string]string{"backup -o x": "there is no database"})

	// What cannot be found out is not taken for an absence.
	file := &apptest.Site{T: t, Env: append(s.Env, "DATA_DIR="+apptest.OwnContent(t))}
	file.Refuses(map[string]string{"backup -o x": "not a directory", "deliveries list": "not a directory"})
	c, code := file.Doctor(nil)
	for _, check := range []string{"data folder", "database"} {
		if c.Says(t, check, "FAILED", "not a directory"); code != 2 {
			t.Errorf("exit code %d", code)
		}
	}

	says(s, said{"migrate", "up to date", ""})

	s.Refuses(map[string]string{
		"backup":                    "--output: name the file",
		"backup -o x y":             "one argument too many",
		"backup -o /nowhere/b":      "/nowhere",
		"restore":                   "--from: name the backup",
		"restore --from /nowhere/b": "--from: ",
	})

	// The leftovers of a killed backup are removed once they are old.
	old, young := filepath.Join(s.Dir, ".siteapi-backup-old"), filepath.Join(s.Dir, ".siteapi-backup-young")
	for path, age := range map[string]time.Duration{old: 25 * time.Hour, young: time.Hour} {
		then := time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chtimes(path, then, then)); err != nil {
			t.Fatal(err)
		}
	}

	if out, code := s.Run("backup", "-o", "-"); code != 0 || !strings.HasPrefix(out, "\x1f\x8b") {
		t.Errorf("the backup on standard output: %d", code)
	}
	left, _ := filepath.Glob(filepath.Join(s.Dir, ".siteapi-backup-*"))
	if !slices.Equal(left, []string{young}) {
		t.Errorf("left are %q", left)
	}
}
