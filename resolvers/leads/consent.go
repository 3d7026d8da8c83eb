package leads

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// ErrNotGiven means that a consent was not given, or has been withdrawn.
var ErrNotGiven = errors.New("the address has not given this consent, or has withdrawn it")

// Withdrawal counts what the withdrawal of a consent has changed.
type Withdrawal struct {
	Leads    int // leads in which it was withdrawn; the queue tells the CMS and the CRM
	Deleted  int // leads that retention had deleted, so that neither can be told of them
	Sessions int // sessions whose contact fields were erased
}

// Withdraw records that a person no longer agrees to a purpose, in all leads of an address.
// What was typed into sessions is erased with the consent to its being kept, whether it was
// given with a lead or not. It returns [ErrNotGiven] if there is nothing to withdraw.
func (s *Service) Withdraw(
	ctx context.Context, email, purpose string, audit store.AuditEntry,
) (w Withdrawal, err error) {
	w.Leads, w.Deleted, err = s.Archive.WithdrawConsent(ctx, email, purpose, time.Now(), audit)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNotGiven
	}
	if purpose != lead.SaveProgress || err != nil && !errors.Is(err, ErrNotGiven) {
		return w, err
	}

	var entry []store.AuditEntry
	if err != nil { // else it is recorded
		entry = append(entry, audit)
	}
	erased, failed := s.Archive.EraseHints(ctx, email, entry...)
	if w.Sessions = int(erased); failed != nil || erased > 0 {
		err = failed
	}
	return w, err
}
