package leads

import (
	"fmt"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// However many slugs are made up, the memory for them is limited, and those of the CMS are
// counted by themselves.
func TestMadeUpChoices(t *testing.T) {
	t.Parallel()
	r := report{
		weeks:   map[week]*steps{},
		choices: map[choice]*schema.FunnelChoice{},
		sources: map[origin]*source{},
		options: map[string]string{"web-app": "Web app"},
	}
	add := func(slug string) {
		r.addSessions(store.SessionCount{Selections: lead.Selections{ProjectType: slug}, Sessions: 1})
	}
	for n := range 2 * valuesCounted {
		add(fmt.Sprint("made-up-", n))
	}
	add("web-app")

	merged, option := r.choices[choice{"projectType", others}], r.choices[choice{"projectType", "web-app"}]
	if merged.Count != valuesCounted || option.Count != 1 || len(r.choices) > valuesCounted+2 {
		t.Errorf("%d choices, %+v, %+v", len(r.choices), merged, option)
	}
}
