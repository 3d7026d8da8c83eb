package leads

import (
	"context"
	"errors"
	"strings"

	"siteapi/schema"
)

// States of a place in the receipt.
const (
	placeUnknown = schema.ErasureStateUnknown
	placeEmpty   = schema.ErasureStateNothingThere
	placeFound   = schema.ErasureStateFound
	placeErased  = schema.ErasureStateErased
	placeFailed  = schema.ErasureStateFailed
	placeKept    = schema.ErasureStateKept
	// Its receiver is notified of the erasure.
	placeAnnounced = schema.ErasureStateAnnounced
)

// place is a system that may store data about an address, with its entry in the receipt.
type place struct {
	schema.ErasurePlace
	find    counting            // counts the data; nil: not searchable
	erase   counting            // may also erase and count data that find missed
	end     schema.ErasureState // the state after the erasure, if data was found
	remains []string            // what stays there, in words
}

// counting finds or erases data about an address and returns the number of items.
type counting = func(context.Context) (int, error)

func newPlace(name schema.ErasurePlaceName, unit string, find, erase counting) *place {
	row := schema.ErasurePlace{Place: name, Unit: unit, State: placeUnknown}
	return &place{row, find, erase, placeErased, nil}
}

// search counts the data of a place.
func (p *place) search(ctx context.Context) {
	if p.find == nil {
		return
	}

	n, err := p.find(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		p.Detail = new("its driver stores nothing: data that it passed on is not erased")
		n, err = 0, nil
	}
	if err != nil {
		p.fail(err)
		return
	}

	p.Found, p.State = &n, placeFound
	if n == 0 {
		p.State = placeEmpty
	}
}

// run erases the data of a place, unless its search failed.
func (p *place) run(ctx context.Context) {
	if p.State == placeFailed {
		return
	}

	n, err := p.erase(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		p.fail(err)
		return
	}
	n = max(n, schema.ValueOr(p.Found, 0))
	p.Found, p.Erased, p.State = &n, n, p.end
	if n == 0 {
		p.State = placeEmpty
	}
}

func (p *place) fail(err error) {
	p.State, p.Detail = placeFailed, new(strings.Join(strings.Fields(err.Error()), " "))
}
