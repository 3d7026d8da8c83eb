package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/file"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	cmstest.Run(t, func(t *testing.T) cmstest.Subject {
		dir := t.TempDir()
		path := filepath.Join(dir, "content.json")
		write(t, path, "[]")
		d, err := file.Open(file.Options{
			Path: path, Dir: dir, Log: zerolog.Nop(),
			AssetURL: func(ref string) string {
				return cms.AssetURL("https://cdn.sanity.io", cmstest.Project, cmstest.Dataset, ref)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return cmstest.Subject{
			Content:     d,
			Submissions: d,
			Replace: func(t testing.TB, docs ...string) {
				write(t, path, "["+strings.Join(docs, ",")+"]")
			},
			Stored: func(t testing.TB) map[string]json.RawMessage {
				out := map[string]json.RawMessage{}
				entries, err := os.ReadDir(filepath.Join(dir, "cms"))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					raw, err := os.ReadFile(filepath.Join(dir, "cms", e.Name()))
					if err != nil {
						t.Fatal(err)
					}
					out[strings.TrimSuffix(e.Name(), ".json")] = raw
				}
				return out
			},
		}
	})
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
