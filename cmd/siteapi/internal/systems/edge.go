package systems

import (
	"fmt"

	"siteapi/integrations/edge"
	"siteapi/integrations/queue"
)

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
		list = append(list, queue.Receiver{
			Name:   fmt.Sprintf("edge_cdn_%d", i+1),
			Notify: p.Purge,
			Every:  cdn.Every,
		})
	}

	for i, address := range s.RevalidateURLs {
		n, err := edge.NewNotifier(s.RevalidateSecret, edge.Options{URL: address, Observe: o.Metrics.Call})
		if err != nil {
			return nil, fmt.Errorf("REVALIDATE_URLS: %w", err)
		}
		list = append(list, queue.Receiver{
			Name:   fmt.Sprintf("edge_site_%d", i+1),
			Notify: n.Notify,
			Every:  edge.Every,
		})
	}

	return list, nil
}
