package systems

import (
	"fmt"

	"siteapi/integrations/edge"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// callsAtOnce is the number of calls after a change to a receiver that is notified at once:
// at the first one, it may still fetch content from an instance with an old cache.
const callsAtOnce = 2

// Receivers returns the receivers of content changes: each address of the CDN and
// each renderer of the site. It does no I/O.
func (o Opener) Receivers() ([]queue.Receiver, error) {
	s := o.Settings
	var list []queue.Receiver

	cdn, _ := edge.Find(s.PurgeKind)
	for i, address := range s.PurgeURLs {
		p, err := edge.NewPurger(cdn, s.PurgeToken, edge.Options{URL: address, Observe: o.Metrics.Call})
		if err != nil {
			return nil, fmt.Errorf("CDN_PURGE_URL: %w", err)
		}
		name := fmt.Sprintf("edge_cdn_%d", i+1)
		list = append(list, queue.Receiver{
			Receiver: store.Receiver{Name: name, Calls: callsAtOnce, Every: cdn.Every},
			Notify:   p.Purge,
		})
	}

	for i, address := range s.RevalidateURLs {
		n, err := edge.NewNotifier(s.RevalidateSecret, edge.Options{URL: address, Observe: o.Metrics.Call})
		if err != nil {
			return nil, fmt.Errorf("REVALIDATE_URLS: %w", err)
		}
		r := store.Receiver{
			Name:  fmt.Sprintf("edge_site_%d", i+1),
			Calls: callsAtOnce,
			Every: edge.Every,
			Quiet: s.RevalidateDelay,
		}
		if r.Quiet > 0 {
			r.Calls = 1
		}
		list = append(list, queue.Receiver{Receiver: r, Notify: n.Notify})
	}

	return list, nil
}
