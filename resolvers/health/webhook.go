package health

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/store"
)

// Names of the notes with the time of the last accepted webhook of the CMS, and with the
// time and reason of the last rejected one.
const (
	acceptedNote = "webhook accepted"
	refusedNote  = "webhook refused"
)

// Webhooks records the last webhooks of the CMS.
type Webhooks struct {
	Notes *store.Store
	Log   zerolog.Logger
	Count func(event, outcome string)

	mu   sync.Mutex
	last map[string]time.Time // when a note was last written
}

// Record counts an outcome: "ok", "error", or "refused_" and the reason. It also writes a
// note of all but errors, at most every ten seconds and in the background: the CMS does not
// wait for it.
func (w *Webhooks) Record(outcome string) {
	w.Count("webhook", outcome)
	note, reason, now := acceptedNote, "", time.Now().UTC()
	if why, refused := strings.CutPrefix(outcome, "refused_"); refused {
		note, reason = refusedNote, why
	} else if outcome != "ok" {
		return
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.last[note]) < 10*time.Second {
		return
	}
	if w.last == nil {
		w.last = map[string]time.Time{}
	}
	w.last[note] = now

	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.Notes.SetNote(ctx, note, now.Format(time.RFC3339)+" "+reason); err != nil {
			w.Log.Warn().Err(err).
				Msg("cannot record the time of a webhook: doctor and inbox show an earlier one")
		}
	}()
}

// checkWebhook reports the last accepted and the last rejected webhook of the CMS.
func (d Dependencies) checkWebhook(ctx context.Context, warn Warn) (string, error) {
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	var texts []string
	var times [2]time.Time
	for i, note := range []string{acceptedNote, refusedNote} {
		text, err := stored.Note(ctx, note)
		if err != nil {
			return "", err
		}
		at, reason, _ := strings.Cut(text, " ")
		if times[i], err = time.Parse(time.RFC3339, at); err != nil {
			texts = append(texts, "no "+note)
			continue
		}
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("last %s %s ago %s",
			note, time.Since(times[i]).Round(time.Second), reason)))
	}

	text := strings.Join(texts, ", ")
	if times[1].After(times[0]) {
		warn(text, "compare token and secret of the webhook in the CMS with CMS_WEBHOOK_SECRET and "+
			"CMS_WEBHOOK_SIGNING_SECRET, see `siteapi cms setup`; until then published changes appear late")
	}
	return text, nil
}
