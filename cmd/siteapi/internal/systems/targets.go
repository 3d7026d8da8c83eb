package systems

import (
	"cmp"
	"context"
	"fmt"

	"siteapi/integrations/lead"
	"siteapi/integrations/leadwebhook"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// LeadWebhook returns the function that announces new leads. Without LEAD_WEBHOOK_URL
// the function fails, and so do the deliveries that were queued while the URL was set.
func (o Opener) LeadWebhook() (queue.Send, error) {
	if o.Settings.LeadWebhookURL == "" {
		return func(context.Context, *queue.Try) error {
			return &upstream.Error{
				System: "webhook",
				Op:     "announcing the lead",
				Kind:   upstream.Rejected,
				Detail: "LEAD_WEBHOOK_URL is not set",
			}
		}, nil
	}

	webhook, err := leadwebhook.New(leadwebhook.Options{
		URL:     o.Settings.LeadWebhookURL,
		Secrets: o.Settings.LeadWebhookSecrets,
		Slack:   o.Settings.LeadWebhookFormat == "slack",
		Observe: o.Metrics.Call,
	})
	if err != nil {
		return nil, fmt.Errorf("LEAD_WEBHOOK_URL: %w", err)
	}

	return func(ctx context.Context, t *queue.Try) error {
		return webhook.Announce(ctx, leadwebhook.Announcement{
			Lead:      *t.Lead,
			Reference: lead.Reference(t.ID),
			PDFURL:    o.Settings.SiteURL + t.PDFPath(),
			QuoteURL:  o.Settings.SiteURL + t.PagePath(),
		})
	}, nil
}

// targets returns the rate and concurrency of each target, and which targets are off.
func (o Opener) targets() []queue.TargetConfig {
	s := o.Settings
	return []queue.TargetConfig{
		{Name: lead.CMS, MaxWorkers: 8, PerSecond: o.perSecond(o.cmsDriver().perSecond)},
		{Name: lead.CRM, MaxWorkers: 4, PerSecond: o.perSecond(o.crmDriver().perSecond)},

		// Receivers of webhooks usually accept five requests a second.
		{
			Name:       lead.Webhook,
			MaxWorkers: 4,
			PerSecond:  5,
			Off:        unless(s.LeadWebhookURL != "", "LEAD_WEBHOOK_URL was not set"),
		},
		{
			Name:       lead.VisitorMail,
			MaxWorkers: 16, // a server that scans each mail for a while must not delay the others
			Off: cmp.Or(unless(s.Mails(), string(schema.NoMailReasonNoMailServer)),
				unless(s.VisitorMail, string(schema.NoMailReasonVisitorMailOff))),
		},
		{Name: lead.SalesMail, MaxWorkers: 16, Off: unless(s.Mails(), "SMTP_URL was not set")},
	}
}

// perSecond returns DELIVERY_RATE, or without it the limit of a driver.
func (o Opener) perSecond(limit float64) float64 {
	if o.Settings.Given("DELIVERY_RATE") {
		return o.Settings.DeliveryRate
	}
	return limit
}

// unless returns the reason if ok is false.
func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}
