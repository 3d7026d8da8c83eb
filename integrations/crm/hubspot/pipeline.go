package hubspot

import (
	"context"
	"strings"

	"siteapi/integrations/upstream"
)

// propPipeline is the property with the pipeline of a deal.
const propPipeline = "pipeline"

// pipeline is a pipeline of deals.
type pipeline struct {
	stage
	Stages []stage `json:"stages"`
}

// stage has the names of a pipeline or a stage.
type stage struct {
	ID       string `json:"id"`
	Label    string `json:"label"`
	Archived bool   `json:"archived"`
}

// pipelines is a response with the pipelines of deals.
type pipelines struct {
	Results []pipeline `json:"results"`
}

func (p *pipelines) complete() bool { return p.Results != nil }

func (d *Driver) readPipelines(ctx context.Context) ([]pipeline, error) {
	var list pipelines
	err := d.call(ctx, upstream.Request{
		Op:   "reading the pipelines of deals",
		Path: path("pipelines", d.version, dealRecord),
	}, &list)
	return list.Results, err
}

// findStage returns the ids of the pipeline and stage of new deals. A label may contain a
// slash, so the setting is compared as a whole.
func (d *Driver) findStage(ctx context.Context) (pipelineID, stageID string, err error) {
	list, err := d.readPipelines(ctx)
	if err != nil {
		return "", "", err
	}

	reason := "the account does not have this pipeline and stage: `siteapi crm setup` lists those that it has"
	for _, p := range list {
		for _, s := range p.Stages {
			for _, name := range []string{p.ID + "/" + s.ID, p.Label + "/" + s.Label, p.ID + "/" + s.Label, p.Label + "/" + s.ID} {
				if !strings.EqualFold(name, d.dealStage) {
					continue
				}
				if !p.Archived && !s.Archived {
					return p.ID, s.ID, nil
				}
				reason = "this pipeline or stage is archived: restore it in HubSpot, or set another one"
			}
		}
	}
	return "", "", problem("finding the stage of HUBSPOT_DEAL_STAGE", upstream.Refused, reason)
}
