// Package leadwebhook posts new leads to a configured URL, either as an event signed
// according to Standard Webhooks or as a message to Slack.
package leadwebhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"siteapi/integrations/internal/event"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
)

const (
	system    = "webhook"
	op        = "announcing the lead"
	maxAnswer = 64 << 10 // bytes
)

// Options specifies where and how leads are announced.
type Options struct {
	// URL is the address that receives the leads. A host in a private network must be
	// given as its IP address.
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
	client *upstream.Client
	target upstream.Request
	signer event.Signer
	slack  bool
}

// Announcement is a lead with the reference and links that receivers show.
type Announcement struct {
	lead.Lead
	Reference string `json:"reference"` // the reference printed on the PDF
	PDFURL    string `json:"pdfUrl"`
}

// New returns a webhook. It does no I/O.
func New(o Options) (*Webhook, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("it is not an address") // The parser's error would repeat the address.
	}

	base := u.Scheme + "://" + u.Host
	hosts, err := upstream.ParseAllowedHosts([]string{base})
	if err != nil {
		return nil, err
	}

	signer, err := event.NewSigner(o.Secrets)
	if err != nil {
		return nil, err
	}

	h := &Webhook{slack: o.Slack, signer: signer}
	h.client = upstream.New(upstream.Options{
		System:    system,
		BaseURL:   base,
		MaxBody:   maxAnswer,
		Transport: hosts.Transport(),
		Observe:   o.Observe,
	})

	// The query is part of the path, since encoding it again would lose what is not of the
	// usual form, such as a semicolon.
	path := "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	h.target = upstream.Request{Op: op, Method: http.MethodPost, Path: path}

	return h, nil
}

// Announce posts a lead. The id of its event is the same at every attempt.
func (h *Webhook) Announce(ctx context.Context, a Announcement) error {
	a.Trace = ""               // It belongs to the request, not to the lead.
	a.Outcome = lead.Outcome{} // It belongs to operators.

	request := h.target
	if h.slack {
		// Slack's markup is off, since visitors' texts may contain it.
		request.Body = map[string]any{"text": message(&a), "mrkdwn": false}
	} else {
		body, header, err := h.signer.Sign("lead_"+a.ID, "lead.created", a.SubmittedAt, a)
		if err != nil {
			return err
		}
		request.Body, request.Header = body, header
	}

	resp, err := h.client.Do(ctx, request)
	if e, ok := errors.AsType[*upstream.Error](err); ok && upstream.StatusKind(e.Status) == "" {
		return nil // Accepted, although the body of the response is missing or too large.
	}
	if err != nil {
		return err
	}

	kind := upstream.StatusKind(resp.Status)
	switch resp.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusPaymentRequired:
		kind = upstream.Refused // The address or the plan is wrong, so every lead would fail.
	case http.StatusConflict:
		kind = upstream.Unavailable // An earlier try may be under way.
	}

	if kind == "" {
		return nil
	}
	return h.client.Failure(op, resp, kind, "")
}

// message returns the text of a message. Escaping prevents the visitor's texts from
// becoming mentions, or links that hide their addresses. Signs of Slack's markup are replaced
// by ones that look like them, for receivers that format all texts; an underscore, which
// addresses may have, in names only.
func message(lead *Announcement) string {
	c, s, e := lead.Contact, lead.Selections, lead.Estimate
	named := strings.NewReplacer("_", "ˍ")
	who := []string{named.Replace(oneLine(c.FirstName) + " " + oneLine(c.LastName))}
	for _, more := range []string{named.Replace(c.Company), c.Email, c.Phone} {
		if more = oneLine(more); more != "" {
			who = append(who, more)
		}
	}

	price := amount(e.Min) + " to " + amount(e.Max) + " " + e.Currency
	if lead.ToBeAgreed() {
		price = "to be agreed"
	}
	choices := append([]string{s.ProjectType}, s.Features...)
	text := fmt.Sprintf("New lead %s: %s\n%s, %s", lead.Reference, strings.Join(who, ", "),
		strings.Join(choices, ", "), price)
	if status := string(lead.PriceStatus); status != "" {
		text += ", price " + strings.ToLower(strings.ReplaceAll(status, "_", " "))
	}
	if typed := oneLine(lead.Message); typed != "" {
		text += "\nMessage: " + typed
	}
	if agreed := oneLine(lead.ConsentText()); agreed != "" {
		text += "\nConsents: " + agreed
	}
	if from := oneLine(lead.Attribution.String()); from != "" {
		text += "\nCame from: " + from
	}
	if from := oneLine(lead.FirstAttribution.String()); lead.FirstAttribution != lead.Attribution {
		text += "\nAt first from: " + from
	}

	inert := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "~", "∼", "`", "ˋ")
	return inert.Replace(text) + "\n" + lead.PDFURL
}

// oneLine removes what would break a line or reverse its direction.
func oneLine(text string) string {
	const joiners = "\u200c\u200d" // Some scripts and emoji need them.
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && !strings.ContainsRune(joiners, r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// amount writes an amount without rounding it.
func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
