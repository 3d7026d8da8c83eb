package sqlite_test

import (
	"path/filepath"
	"testing"

	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storebench"
)

// The three ways to store visits, for 32 clients: through the store, through a bare
// group commit, and one transaction each.
func BenchmarkTrack(b *testing.B) {
	for name, open := range map[string]func(b *testing.B, path string) storebench.Tracker{
		"store": func(b *testing.B, path string) storebench.Tracker {
			s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
			return opened(b, s, err)
		},
		"bare": func(b *testing.B, path string) storebench.Tracker {
			s, err := storebench.OpenBare(b.Context(), path)
			return opened(b, s, err)
		},
		"single": func(b *testing.B, path string) storebench.Tracker {
			s, err := storebench.OpenSingle(b.Context(), path)
			return opened(b, s, err)
		},
	} {
		b.Run(name, func(b *testing.B) {
			t := open(b, filepath.Join(b.TempDir(), "bench.db"))
			b.ResetTimer()
			f, err := storebench.Run(b.Context(), t, storebench.Load{Clients: 32, Visits: max(b.N, 32), Sessions: 20_000})
			if err != nil {
				b.Fatal(err)
			}
			f.Report(b)
		})
	}
}

// opened fails the benchmark on err and closes s at its end.
func opened[T interface {
	storebench.Tracker
	Close() error
}](b *testing.B, s T, err error) storebench.Tracker {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}
