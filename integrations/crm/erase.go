package crm

import (
	"context"
	"slices"

	"siteapi/integrations/lead"
)

// Erasure describes what to erase: a person, or only one of a person's leads.
type Erasure struct {
	// Emails are the spellings of the person's address. They are empty if only a lead is
	// erased, whose person stays.
	Emails []string

	// Typed are the other addresses that the leads were submitted with. They may be those
	// of other people.
	Typed []string

	// Leads are the erased leads that are known, by their ids.
	Leads map[string]lead.Records

	// IsStored reports whether a lead is stored. Leads that retention erased are not.
	IsStored func(ctx context.Context, leadID string) (bool, error)

	// DryRun only reports what would be erased.
	DryRun bool
}

// Fate is what an erasure does to a record of the CRM.
type Fate string

// The fates of records.
const (
	Deleted Fate = "deleted"
	Cleared Fate = "cleared" // it stays without the person's data in our properties
	Left    Fate = "left"    // nothing of ours is in it any more, only in its history
	Foreign Fate = ""        // it has nothing to do with the erasure
)

// Erased is a record with its fate.
type Erased struct {
	ID     string
	Fate   Fate
	LeadID string   // of a deal: its lead; empty: people copied the deal
	Emails []string // addresses of a contact
}

// StoredContact is a contact of the CRM.
type StoredContact struct {
	Properties map[string]string
	Emails     []string // all its addresses
	Writers    []string // ids of the leads that it has ever shown
}

// Contact decides the fate of a contact, and returns the changes of one that is cleared.
//
// A contact with the person's primary address is deleted if a lead created it and no other
// contact was merged into it. A contact with another primary address that was typed is
// deleted if besides it never showed a lead that is not erased. Any other contact is
// maintained by people, or is another person's: it stays, and only loses the quote.
func (e Erasure) Contact(c StoredContact) (Fate, map[string]string) {
	erased := func(leadID string) bool { _, ok := e.Leads[leadID]; return ok }
	theirs := slices.ContainsFunc(c.Emails,
		func(email string) bool { return slices.Contains(e.Emails, email) })
	if !theirs && !slices.ContainsFunc(c.Writers, erased) {
		return Foreign, nil
	}

	primary := Address(c.Properties[PropEmail])
	created := c.Properties[propCreated] == "true" && c.Properties[PropMerged] == ""
	shared := slices.ContainsFunc(c.Writers,
		func(leadID string) bool { return leadID != "" && !erased(leadID) })
	if created && (slices.Contains(e.Emails, primary) || slices.Contains(e.Typed, primary) && !shared) {
		return Deleted, nil
	}

	// The quote of another lead is not the person's. A later erasure of its own person needs
	// the mark.
	changes := map[string]string{}
	for _, p := range Properties() {
		marked := p.Name == propCreated && created && (shared || !theirs)
		if p.Quote() && c.Properties[p.Name] != "" && !marked &&
			(theirs || erased(c.Properties[PropLeadID])) {
			changes[p.Name] = ""
		}
	}
	if len(changes) == 0 {
		return Left, nil
	}
	return Cleared, changes
}

// Deal decides the fate of a deal with data of the person. It is deleted if it is a lead's
// and still in its first stage. Otherwise it stays, as a record of the firm, with the changes
// of [ErasedDeal].
func (e Erasure) Deal(leadID string, movedOn bool) Fate {
	if leadID == "" || movedOn {
		return Cleared
	}
	return Deleted
}

// IsOther reports whether a lead is stored and not erased. Its deal is somebody else's, even
// if it has the person's address: she typed that of another person, or people changed it.
func (e Erasure) IsOther(ctx context.Context, leadID string) (bool, error) {
	if _, erased := e.Leads[leadID]; erased || leadID == "" || e.IsStored == nil {
		return false, nil
	}
	return e.IsStored(ctx, leadID)
}

// HasDeals reports whether a delivery of an erased lead made or found a deal.
func (e Erasure) HasDeals() bool {
	for _, known := range e.Leads {
		if known.Deal.ID != "" {
			return true
		}
	}
	return false
}

// LeadOf returns the erased lead whose deliveries made or found a deal, or nothing.
func (e Erasure) LeadOf(dealID string) string {
	for id, known := range e.Leads {
		if dealID != "" && known.Deal.ID == dealID {
			return id
		}
	}
	return ""
}
