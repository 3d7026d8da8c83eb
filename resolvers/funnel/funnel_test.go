package funnel

import (
	"fmt"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// However many slugs and sources clients invent, options of the CMS are counted separately,
// without options the frequent values are, and no session is lost.
func TestInventedValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options map[string]string
		want    []string // the first values, then the last one
		length  int
	}{
		"options": {map[string]string{"web-app": "Web app", "shop": "Shop"}, []string{"shop", "web-app", others}, 3},
		"none":    {nil, []string{"often", "shop", others}, valuesShown + 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := report{
				weeks:   map[week]steps{},
				choices: map[price.Choice]*schema.FunnelChoice{},
				sources: map[origin]*source{},
				options: c.options,
			}
			add := func(slug string, sessions int) {
				selections := lead.Selections{ProjectType: slug}
				r.addSessions(store.SessionCount{Source: slug, Selections: selections, Sessions: sessions})
			}
			for n := range 300 {
				add(fmt.Sprintf("invented-%03d", n), 1)
			}
			add("web-app", 1)
			add("shop", 8)
			add("often", 9)
			r.listChoices()
			r.listSources(0)

			choices, sources := 0, 0
			for _, choice := range r.Choices {
				choices += choice.Count
			}
			for _, source := range r.Sources {
				sources += source.Sessions
			}
			last := r.Choices[len(r.Choices)-1]
			if len(r.Choices) != c.length || r.Choices[0].Value != c.want[0] || r.Choices[1].Value != c.want[1] ||
				last.Value != c.want[2] || choices != 318 {
				t.Errorf("%d choices with %d sessions, first %v, last %v", len(r.Choices), choices, r.Choices[0], last)
			}
			if rest := r.Sources[len(r.Sources)-1]; len(r.Sources) != valuesShown+1 || sources != 318 || rest.Source != others {
				t.Errorf("%d sources with %d sessions, last %v", len(r.Sources), sources, rest)
			}
		})
	}
}
