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

// FindDeals returns the ids of the leads that have a deal. With addresses it reads all
// deals.
func (d *Driver) FindDeals(ctx context.Context, leads, emails []string) (found []string, err error) {
	const op = "looking up deals"
	if err := ctx.Err(); err != nil {
		return nil, failure(op, err)
	}

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
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, failure(op, err)
		case slices.Contains(leads, id), slices.Contains(emails, deal[crm.PropDealEmail]):
			found = append(found, id)
		}
	}
	return found, nil
}

// EraseDeals removes a person from deals, and the files of those that nobody has moved to
// another stage.
func (d *Driver) EraseDeals(ctx context.Context, leads, emails []string) (kept []string, err error) {
	found, err := d.FindDeals(ctx, leads, emails)
	if err != nil {
		return nil, err
	}

	err = d.locked(ctx, "erasing deals", func() error {
		for _, id := range found {
			deal, err := d.Deal(id)
			switch {
			case err != nil:
			case deal[crm.PropDealStage] == firstStage:
				err = atomicfile.Remove(d.dealPath(id))
			default:
				kept = append(kept, id)
				err = write(d.dealPath(id), deal, crm.ErasedDeal(id))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	return kept, err
}
