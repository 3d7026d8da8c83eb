package leads

import (
	"fmt"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// However many slugs are made up, the memory for them is limited.
func TestMadeUpChoices(t *testing.T) {
	t.Parallel()
	r := report{weeks: map[week]*steps{}, choices: map[choice]*schema.FunnelChoice{}, sources: map[origin]*source{}}
	for n := range 2 * valuesCounted {
		made := lead.Selections{ProjectType: fmt.Sprint("made-up-", n)}
		r.addSessions(store.SessionCount{Selections: made, Sessions: 1})
	}
	if merged := r.choices[choice{"projectType", others}]; merged.Count != valuesCounted || len(r.choices) > valuesCounted+1 {
		t.Errorf("%d choices, %+v", len(r.choices), merged)
	}
}
