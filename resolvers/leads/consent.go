package leads

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/store"
)

// ErrNotGiven means that a consent was not given, or has been withdrawn.
var ErrNotGiven = errors.New("the address has not given this consent, or has withdrawn it")

// Withdraw records that a person no longer agrees to a purpose, or returns [ErrNotGiven].
func (s *Service) Withdraw(
	ctx context.Context, email, purpose string, audit store.AuditEntry,
) (store.Withdrawal, error) {
	w, err := s.Archive.WithdrawConsent(ctx, email, purpose, time.Now(), audit)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNotGiven
	}
	return w, err
}
