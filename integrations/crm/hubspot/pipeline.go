package hubspot

import (
	"context"
	"strings"

	"siteapi/integrations/upstream"
)

// propPipeline is the property with the pipeline of a deal.
const propPipeline = "pipeline"

// stage is a stage of a pipeline of deals.
type stage struct {
	pipelineID, stageID string
	labels              string // <pipeline>/<stage>
	archived            bool
}

func (s stage) ids() string { return s.pipelineID + "/" + s.stageID }

// named has the names of a pipeline or a stage.
type named struct {
	ID, Label string
	Archived  bool
}

// pipeline is a pipeline of deals.
type pipeline struct {
	named
	Stages []named
}

// stages returns the stages of all pipelines.
func (d *Driver) stages(ctx context.Context) (all []stage, err error) {
	var found list[pipeline]
	err = d.call(ctx, upstream.Request{
		Op:   "reading the pipelines of deals",
		Path: d.path("pipelines", dealRecord),
	}, &found)
	for _, p := range found.Results {
		for _, s := range p.Stages {
			all = append(all, stage{p.ID, s.ID, p.Label + "/" + s.Label, p.Archived || s.Archived})
		}
	}
	return all, err
}

// firstStage returns the stage of new deals. Labels may contain slashes, so the setting is
// compared as a whole.
func (d *Driver) firstStage(ctx context.Context) (stage, error) {
	all, err := d.stages(ctx)
	if err != nil {
		return stage{}, err
	}

	reason := "the account does not have this pipeline and stage: `siteapi crm setup` lists those that it has"
	for _, s := range all {
		switch {
		case s.ids() != d.DealStage && !strings.EqualFold(s.labels, d.DealStage):
		case !s.archived:
			return s, nil
		default:
			reason = "this pipeline or stage is archived: restore it in HubSpot, or set another one"
		}
	}
	return stage{}, problem("finding the stage of HUBSPOT_DEAL_STAGE", upstream.Refused, reason)
}
