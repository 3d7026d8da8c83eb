// Package apptest starts the service for tests, in the process of the test or as a
// binary, with stubs of the systems that it uses.
package apptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

type object = map[string]any

// Binary is the path of the binary that Main builds.
var Binary string

// Main builds the binary and runs the tests of a package. It changes to the folder
// cmd/siteapi, so that tests can use relative paths of manuals and deployment files.
func Main(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "building siteapi:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// File returns a file of the repository. It opens an absolute path, because the cache of
// test results does not notice changes of relative ones after Main.
func File(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../" + name)
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// build builds the binary in bin/test. Packages that are tested at the same time share
// it.
func build() error {
	if err := os.Chdir("../../.."); err != nil {
		return err
	}
	dir, err := filepath.Abs("../../bin/test")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()

	Binary = filepath.Join(dir, "siteapi")
	cmd := exec.Command("go", "build", "-trimpath", "-o", Binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // like `make build`
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
