package commands

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/store/storetest/pgserver"
)

// contents returns the contents of all files in the data folder except the locks, keyed
// by path.
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
	must(s.T, err)
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

// waitForLeads waits until the file drivers have stored n leads, each with its deal.
func waitForLeads(s *apptest.Site, n int) {
	s.T.Helper()
	files := &apptest.Client{T: s.T, DataDir: s.Dir}
	apptest.Eventually(s.T, fmt.Sprintf("%d leads arrive", n), func() bool {
		return len(files.Files("cms")) == n && len(files.Files("crm")) == n &&
			len(files.Files("crm/deals")) == n
	})
}

// A backup taken while visitors submit leads contains every lead that was acknowledged
// before the backup began.
func TestBackupWhileVisitorsWrite(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()

	var visitors sync.WaitGroup
	ids := make(chan string, 100_000)
	ctx, stop := context.WithCancel(t.Context())
	for v := range 4 {
		visitors.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				ids <- s.Submit(fmt.Sprintf("v%d-%d", v, i))
			}
		})
	}

	path := filepath.Join(t.TempDir(), "b.tar.gz")
	apptest.Eventually(t, "visitors submit leads", func() bool { return len(ids) > 40 })
	var before []string
	for range len(ids) {
		before = append(before, <-ids)
	}
	s.Prints("backup --output " + path)
	stop()
	visitors.Wait()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%+v %v", info, err)
	}

	s.Stop(t)
	fresh := apptest.NewSite(t)
	prints(fresh, output{"restore --from " + path, "restored the backup of 20 | deliveries verify", ""})

	restored := stored(fresh)
	for _, id := range before {
		if !slices.Contains(restored, id) {
			t.Errorf("the lead %s was acknowledged before the backup and is missing", id)
		}
	}

	fresh.Start()
	if status := pdf(fresh, before[0]); status != 200 {
		t.Errorf("the PDF of a restored lead has status %d", status)
	}
}

// A backup is restored only into an empty folder. Any other folder is left unchanged.
func TestRestoreIntoAnEmptyFolder(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	first := s.Submit("first")
	waitForLeads(s, 1)
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	prints(s, output{"backup -o " + path, ": 1 leads, 0 sessions", ""})
	s.Refuses(map[string]string{"backup -o " + path: "--overwrite"})
	s.Submit("second")
	waitForLeads(s, 2)
	s.Refuses(map[string]string{"restore --from " + path: "in use"})

	s.Stop(t)
	before := contents(s)
	s.Refuses(map[string]string{"restore --from " + path: "already has content.json"})
	if after := contents(s); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a folder that is not empty was changed")
	}

	// A backup can also be read from standard input.
	fresh := apptest.NewSite(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `"$0" restore --from - < "$1"`, apptest.Binary, path)
	cmd.Env = fresh.Env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "repeat these erasures") {
		t.Fatalf("%v %s", err, out)
	}

	// It says how to find what was erased since the backup, in the previous folder.
	s.Run("leads", "erase", "--email", "first@example.com", "--yes")
	_, list, _ := strings.Cut(string(out), "DATA_DIR=<the previous folder> siteapi ")
	list, _, _ = strings.Cut(list, "`")
	if erased, code := s.Run(strings.Fields(list)...); code != 0 || strings.Count(erased, first) != 1 {
		t.Errorf("%q lists %s", list, erased)
	}
	waitForLeads(fresh, 1)
	if got := stored(fresh); !slices.Equal(got, []string{first}) {
		t.Errorf("restored leads: %q", got)
	}
}

// Root must not restore into the folder of the service's user: the service could not open
// the files.
func TestRestoreByRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	s := apptest.NewSite(t)
	must(t, os.Chown(s.Dir, 65534, 65534))
	s.Refuses(map[string]string{"restore --from /dev/null": "run this as that user"})
}

// pack returns a backup of a single file.
func pack(t *testing.T, name string, kind byte, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Size: int64(len(data)), Mode: 0o600})
	if err == nil {
		_, err = archive.Write(data)
	}
	must(t, errors.Join(err, archive.Close(), compressed.Close()))
	return out.Bytes()
}

// Nothing is restored unless the whole backup is valid.
func TestRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	for i := range 20 {
		s.Submit(fmt.Sprint("d-", i))
	}
	s.Stop(t)

	path := filepath.Join(t.TempDir(), "b.tar.gz")
	prints(s, output{"backup -o " + path, "", ""})
	good, err := os.ReadFile(path)
	must(t, err)
	database := []byte(contents(s)[filepath.Join(s.Dir, systems.DatabaseFile)])
	database[8192] ^= 0x40

	s = apptest.NewSite(t)
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"not an archive":                 {[]byte("hello"), "not from this service"},
		"truncated in the middle":        {good[:len(good)/2], "damaged, truncated"},
		"truncated at the end":           {good[:len(good)-4], "damaged, truncated"},
		"a changed byte of the database": {pack(t, systems.DatabaseFile, tar.TypeReg, database), "has no valid database"},
		"no database":                    {pack(t, "content.json", tar.TypeReg, []byte("[]")), "has no valid database"},
		"a path outside the folder":      {pack(t, "../x.json", tar.TypeReg, []byte("[]")), "not from this service"},
		"a link":                         {pack(t, "cms/x.json", tar.TypeSymlink, nil), "not from this service"},
	} {
		bad := filepath.Join(t.TempDir(), "bad.tar.gz")
		must(t, os.WriteFile(bad, c.archive, 0o600))
		s.Refuses(map[string]string{"restore --from " + bad: c.want})
		if remaining := contents(s); len(remaining) != 0 {
			t.Errorf("%s: the data folder has %d files", name, len(remaining))
		}
	}
}

// With PostgreSQL, `backup` and `restore` print command lines for its tools, which work
// as printed.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, "DATABASE_URL="+pgserver.Start(t).NewDatabase(t)).Start()
	id := s.Submit("dumped")
	s.Arrives(id)

	folder := t.TempDir()
	shell := func(prefix string, args ...string) {
		t.Helper()
		out, code := s.Run(args...)
		_, line, found := strings.Cut(out, prefix)
		if code != 1 || !found {
			t.Fatalf("no command line in the output, exit code %d: %s", code, out)
		}
		line, _, _ = strings.Cut(prefix+line, "\n")

		tools, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = folder, append(s.Env, "PATH="+strings.Join(tools, ":")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}

	head := s.AuditHead()
	shell("pg_dump ", "backup")
	s.Run("leads", "erase", "--email", "dumped@example.com", "--yes", "--server", s.Base)
	if len(stored(s)) != 0 {
		t.Fatal("the lead was not erased")
	}

	s.Stop(t)
	shell("pg_restore ", "restore")
	if got := stored(s); !slices.Equal(got, []string{id}) {
		t.Errorf("restored leads: %q", got)
	}
	s.Prints("audit verify --head " + head)
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	s.Refuses(map[string]string{"backup -o x": "there is no database"})

	// An unreadable path is not mistaken for a missing database.
	file := &apptest.Site{T: t, Env: append(s.Env, "DATA_DIR="+apptest.OwnContent(t))}
	file.Refuses(map[string]string{"backup -o x": "not a directory", "deliveries list": "not a directory"})

	prints(s, output{"migrate", "up to date", ""})
	s.Refuses(map[string]string{
		"backup":                    "--output: set the file",
		"restore":                   "--from: set the backup",
		"restore --from /nowhere/b": "--from: ",
	})

	// The folder of a killed backup is removed, and that of a running one, which is locked, is not.
	killed, running := filepath.Join(s.Dir, ".siteapi-backup-killed"), filepath.Join(s.Dir, ".siteapi-backup-running")
	must(t, errors.Join(os.Mkdir(killed, 0o700), os.Mkdir(running, 0o700)))
	lock, err := os.Open(running)
	must(t, err)
	defer lock.Close()
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))

	if out, code := s.Run("backup", "-o", "-"); code != 0 || !strings.HasPrefix(out, "\x1f\x8b") {
		t.Errorf("the backup on standard output: %d", code)
	}
	remaining, _ := filepath.Glob(filepath.Join(s.Dir, ".siteapi-backup-*"))
	if !slices.Equal(remaining, []string{running}) {
		t.Errorf("remaining files: %q", remaining)
	}
}

// hidden returns the temporary files and folders in a folder.
func hidden(folder string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, ".*"))
	return found
}

// A restore that was killed at any point can be repeated. The folders that it or a backup left,
// which contain addresses, are removed by the next start, backup or restore.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	id := s.Submit("first")
	waitForLeads(s, 1)
	backup := filepath.Join(t.TempDir(), "b.tar.gz")
	prints(s, output{"backup -o " + backup, ": 1 leads, 0 sessions", ""})
	s.Stop(t)

	const restore, other = ".siteapi-restore-1", ".siteapi-backup-1"
	for name, tt := range map[string]struct {
		placed []string // files that were moved from the folder to DATA_DIR
		folder string
		again  bool // whether the restore can be repeated
	}{
		"before it placed a file": {nil, restore, true},
		"after the content":       {[]string{"content.json"}, restore, true},
		"after a folder":          {[]string{"content.json", "cms"}, restore, true},
		"before the database":     {[]string{"content.json", "cms", "crm"}, restore, true},
		"after the database":      {[]string{"content.json", "cms", "crm", systems.DatabaseFile}, restore, true},
		"a backup, without data":  {nil, other, true},
		"a backup, with data":     {[]string{"content.json", "cms", "crm", systems.DatabaseFile}, other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := apptest.NewSite(t)
			folder := filepath.Join(fresh.Dir, tt.folder)
			must(t, os.Mkdir(folder, 0o700))
			if out, err := exec.CommandContext(t.Context(), "tar", "xzf", backup, "-C", folder).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			for _, placed := range tt.placed {
				must(t, os.Rename(filepath.Join(folder, placed), filepath.Join(fresh.Dir, placed)))
			}

			if !tt.again {
				fresh.Refuses(map[string]string{"restore --from " + backup: "already has content.json"})
				fresh.Start().Stop(t)
			} else {
				prints(fresh, output{"restore --from " + backup, "1 leads", ""})
			}
			if found := hidden(fresh.Dir); len(found) != 0 {
				t.Errorf("left: %q", found)
			}
			if got := stored(fresh); !slices.Equal(got, []string{id}) {
				t.Errorf("restored leads: %q", got)
			}
		})
	}
}

// Backups that were killed while they wrote leave nothing beside the next one.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	prints(s, output{"migrate", "up to date", ""})
	large := make([]byte, 20<<20) // takes a while to compress
	_, _ = rand.Read(large)
	must(t, os.WriteFile(filepath.Join(s.Dir, "content.json"), large, 0o600))

	folder := t.TempDir()
	backup := "backup --overwrite -o " + filepath.Join(folder, "b.tar.gz")
	for i := range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i)*100*time.Millisecond)
		cmd := exec.CommandContext(ctx, apptest.Binary, strings.Fields(backup)...)
		cmd.Env = s.Env
		_ = cmd.Run()
		cancel()
	}
	prints(s, output{backup, ": 0 leads, 0 sessions", ""})
	if found := hidden(folder); len(found) != 0 {
		t.Errorf("left: %q", found)
	}
}
