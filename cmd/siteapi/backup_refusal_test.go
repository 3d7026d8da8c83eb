package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
