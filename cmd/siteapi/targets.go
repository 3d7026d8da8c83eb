package main

import (
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
)

// webhookRate is how many leads are announced in a second: receivers of webhooks are not built for more.
const webhookRate = 5

// targets says how submissions are delivered, and how often that is tried. A command that
// only looks has no senders.
func targets(s *config.Settings, senders map[queue.Target]queue.Send) []queue.TargetConfig {
	return []queue.TargetConfig{
		{
			Name: queue.CMS, Send: senders[queue.CMS], MaxAttempts: attempts(s.DeliveryRetryMax),
			MaxWorkers: 8, PerSecond: s.CMSRate,
		},
		{
			Name: queue.CRM, Send: senders[queue.CRM], MaxAttempts: attempts(s.DeliveryRetryMax),
			MaxWorkers: 4, PerSecond: s.CRMRate,
		},
		{
			Name: queue.Webhook, Send: senders[queue.Webhook], MaxAttempts: attempts(s.DeliveryRetryMax),
			MaxWorkers: 4, PerSecond: webhookRate, Off: s.LeadWebhookURL == "",
		},
	}
}

// attempts returns a number of tries that takes three days at least with pauses of up to
// retryMax. It is bounded, since the error of each try is kept: with pauses of less than a
// minute three days are not reached.
func attempts(retryMax time.Duration) int {
	const period, most = 3 * 24 * time.Hour, 6000
	shortest := retryMax * 4 / 5 // the longest pause with all of its jitter taken off
	return min(int(period/shortest)+20, most)
}
