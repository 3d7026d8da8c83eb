package quotes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// object is a JSON object under construction.
type object = map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// delivered returns the file of the CMS or the CRM ("cms", "crm") that has a lead, or an
// empty string.
func delivered(s *apptest.Service, system, id string) string {
	for _, name := range s.Files(system) {
		text, _ := os.ReadFile(filepath.Join(s.DataDir, system, name))
		if strings.Contains(string(text), id) {
			return string(text)
		}
	}
	return ""
}

// session returns the stored state of a session.
func session(s *apptest.Service, id string) lead.Session {
	s.T.Helper()
	stored, err := s.App.Data.Store.Session(s.T.Context(), id)
	must(s.T, err)
	return stored
}
