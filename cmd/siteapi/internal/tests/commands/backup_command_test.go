package commands

import (
	"context"
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

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

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
// before the backup began. A service starts on a copy of it.
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

	folder := filepath.Join(t.TempDir(), "b")
	apptest.Eventually(t, "visitors submit leads", func() bool { return len(ids) > 40 })
	var before []string
	for range len(ids) {
		before = append(before, <-ids)
	}
	s.Prints("backup --output "+folder, folder+": ", " leads, ")
	stop()
	visitors.Wait()
	must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if info, failed := os.Stat(path); failed != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v %v", path, info.Mode(), failed)
		}
		return err
	}))

	s.Stop(t)
	restored := restore(t, folder)
	list := stored(restored)
	for _, id := range before {
		if !slices.Contains(list, id) {
			t.Errorf("the lead %s was acknowledged before the backup and is missing", id)
		}
	}
	if status := pdf(restored, before[0]); status != 200 {
		t.Errorf("the PDF of a restored lead has status %d", status)
	}
}

// restore starts a service on a copy of a backup.
func restore(t *testing.T, folder string) *apptest.Site {
	t.Helper()
	s := apptest.NewSite(t)
	must(t, os.CopyFS(s.Dir, os.DirFS(folder)))
	return s.Start()
}

// The first start on a backup logs what it lacks, and the doctor warns until its mark is
// deleted: the command that both name lists what was erased since, in the former folder.
func TestErasuresSinceABackup(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	first, second := s.Submit("first"), s.Submit("second")
	waitForLeads(s, 2)
	folder := filepath.Join(t.TempDir(), "b")
	s.Prints("backup --output "+folder, ": 2 leads, 0 sessions")
	s.Run("leads", "erase", "--email", "first@example.com", "--yes", "--server", s.Base)
	s.Stop(t)

	restored := restore(t, folder)
	const notice = "what was erased since then is back"
	if log := restored.Log.String(); strings.Count(log, notice) != 1 {
		t.Errorf("the first start logs %s", log)
	}
	_, list, _ := strings.Cut(restored.Log.String(), "DATA_DIR=<the former folder> siteapi ")
	list, _, _ = strings.Cut(list, "`")
	if erased, code := s.Run(strings.Fields(list)...); code != 0 ||
		strings.Count(erased, first) != 1 || strings.Contains(erased, second) {
		t.Errorf("%q lists %s", list, erased)
	}
	if got := stored(restored); len(got) != 2 {
		t.Errorf("restored leads: %q", got)
	}

	restored.Stop(t)
	if restored.Start(); restored.Log.Has(notice) {
		t.Error("the second start logs it again")
	}
	// A backup of this one also lacks the erasures since the first.
	again := filepath.Join(t.TempDir(), "b")
	restored.Prints("backup --output "+again, "2 leads")
	restored.Stop(t)
	one, err := os.ReadFile(filepath.Join(folder, "backup.json"))
	must(t, err)
	other, err := os.ReadFile(filepath.Join(again, "backup.json"))
	must(t, err)
	if string(one) != string(other) {
		t.Errorf("the mark is %s, want %s", other, one)
	}

	c, _ := restored.Doctor(nil)
	c.Reports(t, "data folder", "WARNING", notice)
	c.Reports(t, "data folder", "WARNING", "withdraw the consents that it lists with `--action withdrawn`")
	c.Reports(t, "data folder", "WARNING", "then delete "+restored.Dir)

	// A damaged mark does not hide it either.
	const unknown = "what was erased since this backup may be back"
	must(t, os.WriteFile(filepath.Join(restored.Dir, "backup.json"), []byte(`{"logged":true`), 0o600))
	c, _ = restored.Doctor(nil)
	c.Reports(t, "data folder", "WARNING", unknown)
	if restored.Start(); !restored.Log.Has(unknown) {
		t.Errorf("the start logs %s", restored.Log.String())
	}
	restored.Stop(t)

	must(t, os.Remove(filepath.Join(restored.Dir, "backup.json")))
	c, _ = restored.Doctor(nil)
	c.Reports(t, "data folder", "OK", "written and synced")
}

// A backup deletes and replaces nothing that it did not make.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t)
	folder := t.TempDir()
	to := filepath.Join(folder, "b")
	s.Refuses(map[string]string{"backup --output " + to: "there is no database"})

	// An unreadable path is not mistaken for a missing database.
	file := &apptest.Site{T: t, Env: append(s.Env, "DATA_DIR="+apptest.OwnContent(t))}
	file.Refuses(map[string]string{"backup --output " + to: "not a directory", "deliveries list": "not a directory"})

	s.Prints("migrate", "up to date")
	must(t, os.Symlink("/nowhere", filepath.Join(folder, "link")))
	must(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	must(t, os.MkdirAll(filepath.Join(folder, "killed.part", "crm"), 0o700))
	must(t, os.WriteFile(filepath.Join(folder, ".siteapi-production.env"), []byte("SECRET=1"), 0o600))
	before := paths(t, folder)
	s.Refuses(map[string]string{
		"backup":                              "--output: set a folder that does not exist",
		"backup --output /":                   "--output: set a folder that does not exist",
		"backup --output " + folder:           "--output: set a folder that does not exist",
		"backup --output " + folder + "/file": "--output: set a folder that does not exist",
		"backup --output " + folder + "/link": "--output: set a folder that does not exist",
		"backup --output /nowhere/b":          "--output: mkdir /nowhere/b.part",

		// The folder of a killed backup may also be that of a running one.
		"backup --output " + folder + "/killed/": folder + "/killed.part exists",
	})

	// A file that cannot be copied is not left out.
	must(t, os.MkdirAll(filepath.Join(s.Dir, "cms", "x.json"), 0o700))
	s.Refuses(map[string]string{"backup --output " + to: "x.json"})
	must(t, os.RemoveAll(filepath.Join(s.Dir, "cms")))
	must(t, os.WriteFile(filepath.Join(s.Dir, "cms"), nil, 0o600))
	s.Refuses(map[string]string{"backup --output " + to: "not a directory"})
	if after := paths(t, folder); !slices.Equal(after, before) {
		t.Errorf("left: %q, want %q", after, before)
	}
}

// paths returns the paths of everything in a folder.
func paths(t *testing.T, folder string) (list []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	}))
	return list
}

// A backup by root belongs to the owner of DATA_DIR: the service could not open it else.
func TestBackupByRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	s := apptest.NewSite(t)
	s.Prints("migrate", "up to date")
	must(t, os.WriteFile(filepath.Join(s.Dir, "content.json"), []byte("[]"), 0o600))
	must(t, os.Chown(s.Dir, 65534, 65533))

	folder := filepath.Join(t.TempDir(), "b")
	s.Prints("backup --output "+folder, "0 leads, 0 sessions")
	for _, path := range paths(t, folder) {
		info, err := os.Stat(path)
		must(t, err)
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 65534 || owner.Gid != 65533 {
			t.Errorf("%s belongs to %d:%d", path, owner.Uid, owner.Gid)
		}
	}
}

// With PostgreSQL, `backup` copies the files of the drivers and prints the line that adds the
// database, which works as printed, as does the line of the manual for the way back.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[data]") // not a pattern
	server := pgserver.Start(t)
	s := apptest.NewSite(t, "DATABASE_URL="+server.NewDatabase(t), "DATA_DIR="+dir)
	s.Dir = dir
	s.Start()
	id := s.Submit("dumped")
	s.Arrives(id)

	folder := filepath.Join(t.TempDir(), "it's")
	tools, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	env := append(s.Env, "PATH="+strings.Join(tools, ":")+":"+os.Getenv("PATH"))
	shell := func(line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = folder, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}
	line := func(text, prefix string) string {
		t.Helper()
		_, line, found := strings.Cut(text, prefix)
		if !found {
			t.Fatalf("no %s in %s", prefix, text)
		}
		line, _, _ = strings.Cut(line, "\n")
		return prefix + line
	}

	head := s.AuditHead()
	shell(line(s.Prints("backup --output "+folder, "the files of the drivers").Out, "pg_dump "))
	for _, pattern := range []string{"content.json", "cms/*.json", "crm/*.json", "crm/deals/*.json", "postgres.json", "siteapi.dump"} {
		if found, _ := filepath.Glob(filepath.Join(folder, pattern)); len(found) != 1 {
			t.Errorf("%s: %q", pattern, found)
		}
	}
	s.Run("leads", "erase", "--email", "dumped@example.com", "--yes", "--server", s.Base)
	if len(stored(s)) != 0 {
		t.Fatal("the lead was not erased")
	}

	s.Stop(t)
	restored := &apptest.Site{T: t, Dir: folder, Env: append(s.Env, "DATABASE_URL="+server.NewDatabase(t), "DATA_DIR="+folder)}
	env = append(env, "NEW_"+restored.Env[len(restored.Env)-2])
	shell(line(apptest.File(t, "cmd/siteapi/OPERATIONS.md"), "pg_restore "))
	if got := stored(restored); !slices.Equal(got, []string{id}) {
		t.Errorf("restored leads: %q", got)
	}
	restored.Prints("audit verify --head " + head)

	// The former database lists what the restored one lacks.
	c, _ := restored.Doctor(nil)
	c.Reports(t, "data folder", "WARNING", "requests for deletion are missing")
	s.Prints("audit list --action erased", id)
}

// After a service has used PostgreSQL, nothing uses the older SQLite database by mistake. The
// doctor and each receipt name it until it is gone.
func TestOldDatabase(t *testing.T) {
	t.Parallel()
	old := apptest.NewSite(t).Start()
	old.Arrives(old.Submit("moved"))
	old.Stop(t)

	moved := &apptest.Site{T: t, Dir: old.Dir, Env: append(old.Env, "DATABASE_URL="+pgserver.Start(t).NewDatabase(t))}
	file, mark := filepath.Join(old.Dir, "siteapi.db"), filepath.Join(old.Dir, "postgres.json")
	moved.Prints("store copy", "leads: 1 rows", file+" keeps everybody").Without("are not in this database")
	old.Prints("leads list", "moved") // a rehearsal of the copy changes nothing

	moved.Start()
	refused := "delete " + mark
	for _, args := range []string{"", "serve", "leads list", "leads show x", "deliveries list", "backup --output " + old.Dir + "/b", "migrate"} {
		old.Refuses(map[string]string{args: refused})
	}
	moved.Refuses(map[string]string{"store copy": refused})
	c, _ := old.Doctor(nil)
	c.Reports(t, "database", "FAILED", refused)

	const unit = "siteapi.db in DATA_DIR"
	c, _ = moved.Doctor(nil, "--server", moved.Base)
	c.Reports(t, "data folder", "WARNING", file+" keeps everybody")
	const uncopied = "are not in this database"
	if strings.Contains(moved.Log.String(), uncopied) {
		t.Error("the service misses the copied leads")
	}
	database := pgserver.Start(t).NewDatabase(t)
	fresh := &apptest.Site{T: t, Dir: old.Dir, Env: append(old.Env, "DATABASE_URL="+database)}
	fresh.Start()
	fresh.Logs(uncopied)
	fresh.Stop(t)

	// What a killed copy leaves is no database of a service.
	storetest.PostgreSQL(database).Exec(t, "INSERT INTO service_notes (name, text) VALUES ('copy', 'under way')")
	for _, args := range []string{"", "serve", "leads list", "deliveries verify"} {
		fresh.Refuses(map[string]string{args: "create it anew"})
	}
	moved.Submit("other")
	erase := func(name string) string {
		out, _ := moved.Run("leads", "erase", "--email", name+"@example.com", "--yes", "--server", moved.Base, "--json")
		return out
	}
	if out := erase("moved"); !strings.Contains(out, unit) {
		t.Errorf("the receipt does not name %s: %s", unit, out)
	}
	for _, path := range []string{file, file + "-wal", file + "-shm"} {
		_ = os.Remove(path)
	}
	if out := erase("other"); strings.Contains(out, unit) {
		t.Errorf("the receipt names a file that is gone: %s", out)
	}
	c, _ = moved.Doctor(nil, "--server", moved.Base)
	c.Reports(t, "data folder", "OK", "written and synced")

	moved.Stop(t)
	must(t, os.Remove(mark))
	old.Prints("migrate", "up to date")
}
