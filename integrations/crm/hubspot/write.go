package hubspot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"siteapi/integrations/upstream"
)

// errNothingLeft means that HubSpot took none of the properties to be written.
var errNothingLeft = errors.New("no property is left to be written")

// settle is how long a new property gets to become known everywhere.
const settle = 2 * time.Second

// write sends properties and mends what HubSpot finds wrong with single ones: those
// that are not defined are created if the token may; those that can't be had are
// reported and left out. The answer it returns may be of any status.
//
// It comes to an end, for each round either tries to create properties that were not
// tried before or leaves at least one out.
func (d *Driver) write(ctx context.Context, op, method, path string, properties map[string]string) (*upstream.Response, error) {
	properties = maps.Clone(properties)
	tried := map[string]bool{}
	left := map[string]string{}
	for {
		resp, err := d.client.Do(ctx, upstream.Request{
			Op: op, Method: method, Path: path,
			Body: map[string]any{"properties": properties},
		})
		if err != nil {
			return nil, err
		}
		faults := faultsOf(resp, properties)
		if len(faults) == 0 {
			if resp.Status < 300 {
				d.reportGaps(left)
				for name := range tried {
					if _, taken := properties[name]; taken {
						d.newcomers.settled(name)
					}
				}
			}
			return resp, nil
		}
		again, err := d.mend(ctx, faults, tried)
		if err != nil {
			return nil, err
		}
		if again {
			continue
		}
		for name, code := range faults {
			delete(properties, name)
			left[name] = code
		}
		if len(properties) == 0 {
			d.reportGaps(left)
			return nil, errNothingLeft
		}
	}
}

// mend creates the properties that are not defined. It returns whether another try is
// worth it: where a property is there now, by our doing or by that of somebody who stores
// a lead at the same moment. One that is there and that HubSpot still does not know makes
// an error while it is new: a little later the lead can be stored whole.
func (d *Driver) mend(ctx context.Context, faults map[string]string, tried map[string]bool) (bool, error) {
	var unknown []definition
	for _, def := range definitions() {
		if faults[def.Name] != codeUnknown {
			continue
		}
		there, again := tried[def.Name]
		if there && d.newcomers.fresh(def.Name, d.now()) {
			return false, &upstream.Error{
				System: system, Op: "creating properties", Kind: upstream.Unavailable,
				RetryAfter: settle, Detail: "new properties are not known everywhere yet",
			}
		}
		if !again {
			unknown = append(unknown, def)
		}
	}
	there, err := d.define(ctx, unknown)
	if err != nil {
		return false, err
	}
	for _, def := range unknown {
		tried[def.Name] = slices.Contains(there, def.Name)
	}
	return len(there) > 0, nil
}

// reportGaps tells of the properties that a contact was stored without.
func (d *Driver) reportGaps(left map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(left)) {
		d.gaps.Add(1)
		if left[name] == codeUnknown {
			d.report(fmt.Sprintf("a contact was stored without %s: the account has no such property and the token may not create it", name))
			continue
		}
		d.report(fmt.Sprintf("a contact was stored without %s: the account refuses its value (%s)", name, left[name]))
	}
}
