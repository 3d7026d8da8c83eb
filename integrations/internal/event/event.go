// Package event signs webhook requests according to Standard Webhooks.
package event

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Signer signs events.
type Signer []*standardwebhooks.Webhook

// NewSigner returns a signer with secrets of the form "whsec_…". Each event is signed
// with all of them, so that secrets can be rotated.
func NewSigner(secrets []string) (Signer, error) {
	s := make(Signer, len(secrets))
	for i, secret := range secrets {
		var err error
		if s[i], err = standardwebhooks.NewWebhook(secret); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Sign returns the body of an event and the headers with its id, the time and the
// signatures. Receivers ignore an id that they have already processed.
func (s Signer) Sign(id, kind string, at time.Time, data any) ([]byte, http.Header, error) {
	body, err := json.Marshal(map[string]any{"type": kind, "timestamp": at, "data": data})
	if err != nil {
		return nil, nil, fmt.Errorf("encoding an event: %w", err)
	}

	now := time.Now()
	signatures := make([]string, len(s))
	for i, signer := range s {
		if signatures[i], err = signer.Sign(id, now, body); err != nil {
			return nil, nil, fmt.Errorf("signing an event: %w", err)
		}
	}

	return body, http.Header{
		standardwebhooks.HeaderWebhookID:        {id},
		standardwebhooks.HeaderWebhookTimestamp: {strconv.FormatInt(now.Unix(), 10)},
		standardwebhooks.HeaderWebhookSignature: {strings.Join(signatures, " ")},
	}, nil
}
