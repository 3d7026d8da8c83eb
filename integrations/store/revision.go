package store

import (
	"context"
	"time"
)

// Kinds of documents whose revisions are kept.
const (
	Prices = "prices" // the price rules of a locale
	Texts  = "texts"  // the firm's texts in all locales

	// Content is all content of a locale. Only its name is kept, for the next process.
	Content = "content"
)

// Revision is a version of a document of the CMS, as the service encodes it. The store
// does not interpret it.
type Revision struct {
	Revision   string
	Kind       string
	Locale     string // empty: it belongs to all locales
	Body       string
	ReplacedAt time.Time // when it was replaced; zero: it is current
}

// RevisionRetention is how long a replaced revision is kept. Texts are kept longer if a
// lead names them.
const RevisionRetention = 30 * 24 * time.Hour

const selectRevision = `SELECT revision, kind, locale, body, replaced_at FROM revisions`

// UseRevision makes a revision current for its kind and locale. Without a name, there is
// none.
func (s *Store) UseRevision(ctx context.Context, r Revision, now time.Time) error {
	return s.write(ctx, "storing a revision", func(ctx context.Context, tx Tx) error {
		if r.Revision != "" {
			_, err := tx.Exec(ctx, `INSERT INTO revisions (revision, kind, locale, body, replaced_at)
VALUES ($1, $2, $3, $4, 0) ON CONFLICT (revision) DO UPDATE SET replaced_at = 0`,
				r.Revision, r.Kind, r.Locale, r.Body)
			if err != nil {
				return err
			}
		}

		_, err := tx.Exec(ctx, `UPDATE revisions SET replaced_at = $1
WHERE kind = $2 AND locale = $3 AND revision <> $4 AND replaced_at = 0`, now, r.Kind, r.Locale, r.Revision)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM revisions WHERE replaced_at BETWEEN 1 AND $1
AND NOT EXISTS (SELECT 1 FROM leads WHERE texts = revision)`, now.Add(-RevisionRetention))
		return err
	})
}

// Revision returns a revision of a kind, or [ErrNotFound].
func (s *Store) Revision(ctx context.Context, kind, revision string) (Revision, error) {
	return one[Revision](ctx, s.db, "reading a revision",
		selectRevision+` WHERE kind = $1 AND revision = $2`, kind, revision)
}

// CurrentRevision returns the current revision of a kind and locale, or [ErrNotFound].
func (s *Store) CurrentRevision(ctx context.Context, kind, locale string) (Revision, error) {
	return one[Revision](ctx, s.db, "reading the current revision",
		selectRevision+` WHERE kind = $1 AND locale = $2 AND replaced_at = 0`, kind, locale)
}
