package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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

// FindDeals returns those of the given leads that have a deal.
func (d *Driver) FindDeals(ctx context.Context, leads []string) (found []string, err error) {
	err = d.locked(ctx, "looking up deals", func() error {
		for _, id := range leads {
			_, err := os.Stat(d.dealPath(id))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err == nil && id != "" {
				found = append(found, id)
			}
		}
		return nil
	})
	return found, err
}

// EraseDeals removes a person from deals, and the files of those that nobody has moved to
// another stage. It reads all files. One that is not named by the lead in it is a copy.
func (d *Driver) EraseDeals(ctx context.Context, e crm.Erasure) (all []crm.Erased, err error) {
	err = d.locked(ctx, "erasing deals", func() error {
		paths, err := atomicfile.Match(filepath.Join(d.dir, deals), "*.json")
		if err != nil {
			return err
		}
		for _, path := range paths {
			id := named(path)
			_, erased := e.Leads[id]
			properties, err := read(path)
			damaged := errors.Is(err, errDamaged)
			if err != nil && !damaged {
				return err
			}
			if !erased && !slices.Contains(e.Emails, properties[crm.PropDealEmail]) {
				continue
			}

			deal := crm.Erased{ID: id, LeadID: id}
			if !erased && properties[crm.PropLeadID] != id {
				deal.LeadID = ""
			}
			isOther, err := e.IsOther(ctx, deal.LeadID)
			if err != nil {
				return err
			}
			if !isOther {
				deal.Fate = e.Deal(deal.LeadID, !damaged && properties[crm.PropDealStage] != firstStage)
			}
			all = append(all, deal)

			switch {
			case isOther, e.DryRun:
			case deal.Fate == crm.Deleted:
				err = atomicfile.Remove(path)
			default:
				err = write(path, properties, crm.ErasedDeal(deal.LeadID))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}
