// Package leadwebhook posts new leads, and what happens to them later, to a configured URL,
// either as events signed according to Standard Webhooks or as messages to Slack.
package leadwebhook

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/template"
	"time"

	"siteapi/integrations/internal/event"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

// Options configures a [Webhook].
type Options struct {
	// URL is the address that receives the leads. A host in a private network must be
	// specified by its IP address.
	URL string

	// Secrets have the form "whsec_…". Each one signs every event, so that secrets can be
	// rotated.
	Secrets []string

	// Slack posts a message instead of the event, with days in TimeZone; nil: UTC.
	Slack    bool
	TimeZone *time.Location

	// Observe is passed to the HTTP client. It may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// Webhook announces leads.
type Webhook struct {
	endpoint *upstream.Endpoint
	signer   event.Signer
	slack    bool
	zone     *time.Location
}

// Announcement is a lead with the reference and links that receivers show.
type Announcement struct {
	lead.Lead
	Reference string `json:"reference"` // the reference printed on the PDF
	PDFURL    string `json:"pdfUrl"`
	QuoteURL  string `json:"quoteUrl"` // the lead's page
}

// New returns a webhook. It does no I/O.
func New(o Options) (*Webhook, error) {
	endpoint, err := upstream.NewEndpoint(upstream.Options{
		System:  "webhook",
		BaseURL: o.URL,
		Observe: o.Observe,
	}, true)
	if err != nil {
		return nil, err
	}
	signer, err := event.NewSigner(o.Secrets)
	return &Webhook{endpoint, signer, o.Slack, cmp.Or(o.TimeZone, time.UTC)}, err
}

// Announce posts a lead. Every attempt has the same number, which is part of the event's id.
func (h *Webhook) Announce(ctx context.Context, number int64, a Announcement) error {
	a.Trace = ""               // It belongs to the request, not to the lead.
	a.Outcome = lead.Outcome{} // It belongs to operators.

	if h.slack {
		text, err := h.message(&a)
		if err != nil {
			return err
		}
		return h.post(ctx, text)
	}
	return h.send(ctx, a.ID, lead.Created, number, a.SubmittedAt, a)
}

// Event describes what happened to a lead. It has nothing of the person, except for Email, a
// corrected address.
type Event struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
	Email     string `json:"email,omitempty"`
	lead.EventDetail
}

// Notify posts an event of a lead that was announced before. To Slack it posts a message that
// the visitor asked for the deletion of a lead, with the address of the lead in the inbox.
func (h *Webhook) Notify(
	ctx context.Context, kind lead.Event, number int64, at time.Time, e Event, inbox string,
) error {
	if h.slack {
		return h.post(ctx, strings.TrimSpace("The visitor asks for the deletion of lead "+e.Reference+
			". Erase it or decline the request within a month.\n"+inbox))
	}
	return h.send(ctx, e.ID, kind, number, at, e)
}

// send posts a signed event.
func (h *Webhook) send(
	ctx context.Context, id string, kind lead.Event, number int64, at time.Time, data any,
) error {
	eventID := fmt.Sprintf("lead_%s.%s.%d", id, kind, number)
	body, header, err := h.signer.Sign(eventID, "lead."+string(kind), at, data)
	if err != nil {
		return err
	}
	return h.endpoint.Send(ctx,
		upstream.Request{Op: operation, Method: http.MethodPost, Body: body, Header: header})
}

// post posts a message to Slack, whose markup is disabled, because what visitors write may
// contain it.
func (h *Webhook) post(ctx context.Context, text string) error {
	body := map[string]any{"text": text, "mrkdwn": false}
	return h.endpoint.Send(ctx, upstream.Request{Op: operation, Method: http.MethodPost, Body: body})
}

const operation = "announcing the lead"

//go:embed message.txt
var messageText string

// message returns the text of a message. Escaping prevents the visitor's words from
// becoming mentions, or links that hide their addresses. Characters of Slack's markup are
// replaced by look-alikes, for receivers that format everything; underscores only in names,
// because addresses may contain them.
func (h *Webhook) message(a *Announcement) (string, error) {
	t, err := template.New("message").Funcs(template.FuncMap{
		"line":     lead.OneLine,
		"name":     func(text string) string { return strings.ReplaceAll(lead.OneLine(text), "_", "ˍ") },
		"amount":   func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) },
		"consents": func() string { return a.ConsentText(h.zone) },
		"words": func(s lead.PriceStatus) string {
			return strings.ToLower(strings.ReplaceAll(string(s), "_", " "))
		},
	}).Parse(messageText)
	if err != nil {
		return "", err
	}

	var text strings.Builder
	err = t.Execute(&text, a)
	inert := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "~", "∼", "`", "ˋ")
	return inert.Replace(text.String()) + "\n" + a.QuoteURL, err
}
