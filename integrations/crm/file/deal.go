package file

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/crm"
)

const (
	deals      = "deals" // name of the folder
	firstStage = "new"   // stage of a new deal
)

// Deal returns the properties of the lead's deal. If it does not exist, the error is
// fs.ErrNotExist.
func (d *Driver) Deal(leadID string) (map[string]string, error) { return read(d.dealPath(leadID)) }

func (d *Driver) dealPath(leadID string) string {
	return filepath.Join(d.dir, deals, leadID+".json")
}

func (d *Driver) upsertDeal(l crm.Contact) error {
	deal, err := d.Deal(l.Lead.ID)
	changes := crm.DealQuote(l)
	if errors.Is(err, fs.ErrNotExist) {
		changes = crm.NewDeal(l)
		changes[crm.PropDealStage] = firstStage
	} else if err != nil {
		return err
	}
	return write(d.dealPath(l.Lead.ID), deal, changes)
}

// eachDeal calls f with the deals of leads, and of all leads with one of the addresses.
// With addresses it reads all deals.
func (d *Driver) eachDeal(leads, emails []string, f func(leadID string, deal map[string]string) error) error {
	var paths []string
	for _, id := range leads {
		paths = append(paths, d.dealPath(id))
	}
	if len(emails) > 0 {
		paths, _ = filepath.Glob(d.dealPath("*"))
	}

	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		deal, err := read(path)
		if err == nil && (slices.Contains(leads, id) || slices.Contains(emails, deal[crm.PropDealEmail])) {
			err = f(id, deal)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// FindDeals returns the ids of the leads that have a deal.
func (d *Driver) FindDeals(ctx context.Context, leads, emails []string) (found []string, err error) {
	err = d.locked(ctx, "looking up deals", func() error {
		return d.eachDeal(leads, emails, func(id string, _ map[string]string) error {
			found = append(found, id)
			return nil
		})
	})
	return found, err
}

// EraseDeals removes a person from deals, and the files of those that nobody has moved to
// another stage.
func (d *Driver) EraseDeals(ctx context.Context, leads, emails []string) (kept []string, err error) {
	err = d.locked(ctx, "erasing deals", func() error {
		return d.eachDeal(leads, emails, func(id string, deal map[string]string) error {
			if deal[crm.PropDealStage] == firstStage {
				return atomicfile.Remove(d.dealPath(id))
			}
			kept = append(kept, id)
			return write(d.dealPath(id), deal, crm.ErasedDeal(id))
		})
	})
	return kept, err
}
