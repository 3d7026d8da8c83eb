package sqlstore

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/store"
)

const loginColumns = `hash, subject, email, role, refresh, started_at, check_at, expires_at`

// StartLogin implements [store.Logins].
func (s *Store) StartLogin(ctx context.Context, o store.Login) error {
	return s.write(ctx, "starting a session", func(ctx context.Context, tx Tx) error {
		started := o.StartedAt.UnixMilli()
		if _, err := tx.Exec(ctx, `DELETE FROM logins WHERE expires_at <= $1`, started); err != nil {
			return err
		}
		_, err := tx.Exec(ctx,
			`INSERT INTO logins (`+loginColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			o.Hash, o.Subject, o.Email, o.Role, o.Refresh, started, o.CheckAt.UnixMilli(), o.ExpiresAt.UnixMilli())
		return err
	})
}

// Login implements [store.Logins].
func (s *Store) Login(ctx context.Context, hash string) (store.Login, error) {
	found, err := s.logins(ctx, " WHERE hash = $1", hash)
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Login{}, err
	}
	return found[0], nil
}

// ListLogins implements [store.Logins].
func (s *Store) ListLogins(ctx context.Context, now time.Time) ([]store.Login, error) {
	return s.logins(ctx, " WHERE expires_at > $1 ORDER BY started_at DESC", now.UnixMilli())
}

func (s *Store) logins(
	ctx context.Context, which string, args ...any,
) (list []store.Login, err error) {
	query := `SELECT ` + loginColumns + ` FROM logins` + which
	err = s.db.Query(ctx, query, args, func(scan Scan) error {
		var o store.Login
		var started, check, expires int64
		err := scan(&o.Hash, &o.Subject, &o.Email, &o.Role, &o.Refresh, &started, &check, &expires)
		o.StartedAt, o.CheckAt, o.ExpiresAt =
			time.UnixMilli(started).UTC(), time.UnixMilli(check).UTC(), time.UnixMilli(expires).UTC()
		list = append(list, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading sessions: %w", err)
	}
	return list, nil
}

// ClaimCheck implements [store.Logins].
func (s *Store) ClaimCheck(ctx context.Context, hash string, now, until time.Time) (bool, error) {
	n, err := s.db.Exec(ctx, `UPDATE logins SET claimed_until = $1
		WHERE hash = $2 AND check_at <= $3 AND claimed_until <= $3`,
		until.UnixMilli(), hash, now.UnixMilli())
	return n > 0, err
}

// RenewLogin implements [store.Logins].
func (s *Store) RenewLogin(ctx context.Context, o store.Login) error {
	_, err := s.db.Exec(ctx, `UPDATE logins
		SET email = $1, role = $2, refresh = $3, check_at = $4, claimed_until = 0 WHERE hash = $5`,
		o.Email, o.Role, o.Refresh, o.CheckAt.UnixMilli(), o.Hash)
	return err
}

// EndLogins implements [store.Logins].
func (s *Store) EndLogins(ctx context.Context, hash string) (int64, error) {
	return s.db.Exec(ctx, `DELETE FROM logins WHERE hash >= $1 AND hash < $2`, hash, hash+"~")
}
