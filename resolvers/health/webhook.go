package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// webhookNote is the beginning of the names of two notes, "ok" and "refused".
const webhookNote = "webhook "

// webhookEvery is the least time between two notes of a kind, however many webhooks come.
const webhookEvery = 10 * time.Second

// seenWebhook is a webhook of the CMS that came.
type seenWebhook struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // why it was refused
}

// Webhooks notes when a webhook of the CMS was last taken, and when one was last refused.
type Webhooks struct {
	Notes store.Notes
	Log   zerolog.Logger

	mu    sync.Mutex
	noted map[string]time.Time
}

// Note notes an outcome: "ok", or "refused_" and the reason.
func (w *Webhooks) Note(outcome string) {
	reason, refused := strings.CutPrefix(outcome, "refused_")
	kind := "ok"
	if refused {
		kind = "refused"
	} else if reason = ""; outcome != kind {
		return
	}

	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.noted[kind]) < webhookEvery {
		return
	}
	if w.noted == nil {
		w.noted = map[string]time.Time{}
	}
	w.noted[kind] = now

	// The CMS does not wait for the database.
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), webhookEvery)
		defer cancel()
		text, _ := json.Marshal(seenWebhook{now, reason})
		if err := w.Notes.SetNote(ctx, webhookNote+kind, string(text)); err != nil {
			w.Log.Debug().Err(err).Msg("noting that a webhook came")
		}
	}()
}

// checkWebhook reports when the last webhooks of the CMS were taken and refused.
func (d Dependencies) checkWebhook(ctx context.Context, warn Warn) (string, error) {
	notes, err := d.Notes(ctx)
	if err != nil {
		return notChecked, nil //nolint:nilerr // the check of the database reports it
	}

	seen, said := map[string]seenWebhook{}, []string{}
	for kind, words := range map[string]string{"ok": "taken", "refused": "refused"} {
		text, err := notes.Note(ctx, webhookNote+kind)
		if errors.Is(err, store.ErrNotFound) {
			said = append(said, "none was "+words)
			continue
		}
		var last seenWebhook
		if err == nil {
			err = json.Unmarshal([]byte(text), &last)
		}
		if err != nil {
			return "", fmt.Errorf("reading when a webhook came: %w", err)
		}

		seen[kind] = last
		ago := fmt.Sprintf("the last was %s %s ago", words, time.Since(last.At).Round(time.Second))
		if last.Reason != "" {
			ago += " for its " + last.Reason
		}
		said = append(said, ago)
	}

	slices.Sort(said)
	text := strings.Join(said, "; ")
	if seen["refused"].At.After(seen["ok"].At) {
		warn(text, "compare token and secret of the webhook in the CMS with CMS_WEBHOOK_SECRET and "+
			"CMS_WEBHOOK_SIGNING_SECRET, see `siteapi cms setup`; until then changes are noticed as \"watch\" says")
	}
	return text, nil
}
