package systems

import (
	"context"
	"fmt"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/leadwebhook"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/leadmail"
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
		URL:      o.Settings.LeadWebhookURL,
		Secrets:  o.Settings.LeadWebhookSecrets,
		Slack:    o.Settings.LeadWebhookFormat == "slack",
		TimeZone: o.Settings.TimeZone,
		Observe:  o.Metrics.Call,
	})
	if err != nil {
		return nil, fmt.Errorf("LEAD_WEBHOOK_URL: %w", err)
	}

	return func(ctx context.Context, t *queue.Try) error {
		reference := lead.Reference(t.ID)
		if t.Event() == lead.Created {
			return webhook.Announce(ctx, t.Number(), leadwebhook.Announcement{
				Lead:      *t.Lead,
				Reference: reference,
				PDFURL:    o.Settings.SiteURL + t.PDFPath(),
				QuoteURL:  o.Settings.SiteURL + t.PagePath(),
			})
		}

		event := leadwebhook.Event{ID: t.ID, Reference: reference, EventDetail: t.Detail()}
		if t.Event() == lead.Corrected {
			event.Email = t.Address()
		}
		return webhook.Notify(ctx, t.Event(), t.Number(), t.At(), event,
			leadmail.Link(o.inboxURL(), reference))
	}, nil
}

// webhookEvents returns the events that the webhook is notified of if it got the lead, and
// those that it is always notified of. Slack gets only what a person has to act on.
func (o Opener) webhookEvents() (events, always []lead.Event) {
	if o.Settings.LeadWebhookFormat == "slack" {
		return nil, []lead.Event{lead.DeletionRequested}
	}
	events = []lead.Event{lead.ConsentWithdrawn, lead.DeletionRequested, lead.Erased}
	for _, name := range o.Settings.LeadWebhookEvents {
		events = append(events, lead.Event(strings.TrimPrefix(name, "lead.")))
	}
	return events, nil
}

// targets returns the rate and concurrency of each target, and which targets are off.
func (o Opener) targets() []queue.TargetConfig {
	s := o.Settings
	events, always := o.webhookEvents()
	var noMail lead.NoMailReason
	if !s.VisitorMail {
		noMail = lead.VisitorMailOff
	}
	mails := o.mailDriver()
	if mails.open == nil {
		noMail = lead.NoMailServer
	}

	return []queue.TargetConfig{
		{Name: lead.CMS, MaxWorkers: 8, PerSecond: o.perSecond(o.cmsDriver().perSecond)},
		{Name: lead.CRM, MaxWorkers: 4, PerSecond: o.perSecond(o.crmDriver().perSecond)},

		// Receivers of webhooks usually accept five requests a second.
		{
			Name:       lead.Webhook,
			MaxWorkers: 4,
			PerSecond:  5,
			Off:        s.LeadWebhookURL == "",
			Events:     events,
			Always:     always,
		},
		{
			Name:       lead.VisitorMail,
			MaxWorkers: 16, // a server that scans each mail for a while must not delay the others
			PerSecond:  mails.perSecond,
			Off:        noMail != "",
			NoMail:     noMail,
			Always:     []lead.Event{lead.DeletionDeclined},
		},
		{
			Name:       lead.SalesMail,
			MaxWorkers: 16,
			PerSecond:  mails.perSecond,
			Off:        mails.open == nil,
			Always:     []lead.Event{lead.DeletionRequested},
		},
	}
}

// perSecond returns DELIVERY_RATE, or without it the limit of a driver.
func (o Opener) perSecond(limit float64) float64 {
	if o.Settings.Given("DELIVERY_RATE") {
		return o.Settings.DeliveryRate
	}
	return limit
}
