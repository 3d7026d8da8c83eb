package file_test

import (
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/integrations/mail/file"
	"siteapi/integrations/mail/mailtest"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	mailtest.Run(t, func(t *testing.T, _ mailtest.Fate) mailtest.Subject {
		dir := filepath.Join(t.TempDir(), "mail")
		return mailtest.Subject{
			Sender: file.Open(dir),
			IDs: func() (ids []string) {
				paths, _ := filepath.Glob(filepath.Join(dir, "*.eml"))
				for _, path := range paths {
					f, err := os.Open(path)
					if err != nil {
						t.Fatal(err)
					}
					sent, err := netmail.ReadMessage(f)
					if _ = f.Close(); err != nil {
						t.Fatal(err)
					}
					ids = append(ids, strings.Trim(sent.Header.Get("Message-ID"), "<>"))
				}
				return ids
			},
		}
	}, mailtest.Accepted)
}
