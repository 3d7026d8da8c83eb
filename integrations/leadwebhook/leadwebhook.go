// Package leadwebhook posts new leads to a configured URL, either as an event signed
// according to Standard Webhooks or as a message to Slack.
package leadwebhook

import (
	"context"
	_ "embed"
	"net/http"
	"strconv"
	"strings"
	"text/template"

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

	// Slack posts a message instead of the event.
	Slack bool

	// Observe is passed to the HTTP client. It may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// Webhook announces leads.
type Webhook struct {
	endpoint *upstream.Endpoint
	signer   event.Signer
	slack    bool
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
	return &Webhook{endpoint, signer, o.Slack}, err
}

// Announce posts a lead. Every attempt has the same event id.
func (h *Webhook) Announce(ctx context.Context, a Announcement) error {
	a.Trace = ""               // It belongs to the request, not to the lead.
	a.Outcome = lead.Outcome{} // It belongs to operators.

	request := upstream.Request{Op: "announcing the lead", Method: http.MethodPost}
	if h.slack {
		text, err := message(&a)
		if err != nil {
			return err
		}
		// Slack's markup is disabled, because visitors' texts may contain it.
		request.Body = map[string]any{"text": text, "mrkdwn": false}
	} else {
		body, header, err := h.signer.Sign("lead_"+a.ID, "lead.created", a.SubmittedAt, a)
		if err != nil {
			return err
		}
		request.Body, request.Header = body, header
	}

	return h.endpoint.Send(ctx, request)
}

//go:embed message.txt
var messageText string

// message returns the text of a message. Escaping prevents the visitor's texts from
// becoming mentions, or links that hide their addresses. Characters of Slack's markup are
// replaced by look-alikes, for receivers that format all texts; underscores only in names,
// because addresses may contain them.
func message(a *Announcement) (string, error) {
	t, err := template.New("message").Funcs(template.FuncMap{
		"line":   lead.OneLine,
		"name":   func(text string) string { return strings.ReplaceAll(lead.OneLine(text), "_", "ˍ") },
		"amount": func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) },
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
