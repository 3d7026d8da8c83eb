package funnel

import (
	"fmt"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// Options of the CMS and frequent choices are counted separately, however many slugs
// clients invent.
func TestInventedChoices(t *testing.T) {
	t.Parallel()
	r := report{
		weeks:   map[week]*steps{},
		choices: map[string]map[string]*schema.FunnelChoice{},
		sources: map[origin]*source{},
		options: map[string]string{"web-app": "Web app"},
	}
	add := func(slug string, sessions int) {
		r.addSessions(store.SessionCount{Selections: lead.Selections{ProjectType: slug}, Sessions: sessions})
	}

	for n := range 3 * valuesCounted {
		add(fmt.Sprintf("invented-%d", n), 1)
	}
	add("web-app", 1)
	add("often", 9)
	for n := range 3 * valuesCounted {
		add(fmt.Sprintf("more-%d", n), 1)
	}

	total := 0
	for _, c := range r.choices["projectType"] {
		total += c.Count
	}
	counted := r.choices["projectType"]
	if counted["web-app"] == nil || counted["often"] == nil || total != 6*valuesCounted+10 ||
		len(counted) > 2*valuesCounted {
		t.Errorf("%d values, %d choices", len(counted), total)
	}
}
