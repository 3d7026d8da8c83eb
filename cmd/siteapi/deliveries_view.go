package main

import (
	"fmt"
	"strings"
	"time"

	"siteapi/integrations/queue"
)

// deliveryView is a delivery as --json prints it. Times are RFC 3339, in UTC; those that
// are not known are left out.
type deliveryView struct {
	ID         int64         `json:"id"`
	Submission string        `json:"submission"`
	Target     string        `json:"target"`
	State      string        `json:"state"`
	Tries      int           `json:"tries"`
	CreatedAt  time.Time     `json:"createdAt"`
	NextAt     time.Time     `json:"nextAt,omitzero"`
	FinishedAt time.Time     `json:"finishedAt,omitzero"`
	Paused     string        `json:"paused,omitempty"` // why its target is paused
	Errors     []attemptView `json:"errors"`
}

type attemptView struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Error  string    `json:"error"`
}

func newDeliveryViews(list []queue.Delivery) []deliveryView {
	views := make([]deliveryView, 0, len(list))
	for _, d := range list {
		v := deliveryView{
			ID: d.ID, Submission: d.SubmissionID, Target: string(d.Target), State: string(d.State), Tries: d.Attempts,
			CreatedAt: d.CreatedAt, NextAt: d.NextAt, FinishedAt: d.FinishedAt, Paused: d.Paused, Errors: []attemptView{},
		}
		for _, e := range d.Errors {
			v.Errors = append(v.Errors, attemptView{e.Number, e.At, e.Error})
		}
		views = append(views, v)
	}
	return views
}

// span writes a duration with its two largest units, which is all a table needs.
func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// stamp writes a time with its distance from now.
func stamp(at, now time.Time) string {
	if at.After(now) {
		return fmt.Sprintf("%s, in %s", at.Format(time.RFC3339), span(at.Sub(now)))
	}
	return fmt.Sprintf("%s, %s ago", at.Format(time.RFC3339), span(now.Sub(at)))
}

// shortened cuts a text to a number of characters.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
