package hubspottest

// pipeline is a pipeline of deals, with its stages.
type pipeline struct {
	ID       string  `json:"id"`
	Label    string  `json:"label"`
	Archived bool    `json:"archived"`
	Stages   []stage `json:"stages"`
}

type stage struct {
	ID       string            `json:"id"`
	Label    string            `json:"label"`
	Archived bool              `json:"archived"`
	Metadata map[string]string `json:"metadata"`
}

// pipelines returns HubSpot's standard pipeline, one whose label has a slash, and an
// archived one.
func pipelines() []pipeline {
	open := func(id, label, probability string) stage {
		return stage{ID: id, Label: label, Metadata: map[string]string{"probability": probability}}
	}
	return []pipeline{
		{ID: "default", Label: "Sales Pipeline", Stages: []stage{
			open("appointmentscheduled", "Appointment Scheduled", "0.2"),
			open("qualifiedtobuy", "Qualified To Buy", "0.4"),
			open("closedwon", "Closed Won", "1.0"),
			open("closedlost", "Closed Lost", "0.0"),
		}},
		{ID: "8812", Label: "Web/Quotes", Stages: []stage{open("8813", "New", "0.1"), open("8814", "Won", "1.0")}},
		{ID: "8820", Label: "Old", Archived: true, Stages: []stage{open("8821", "New", "0.1")}},
	}
}

// probability returns that of a stage, as text.
func probability(stageID string) string {
	for _, p := range pipelines() {
		for _, s := range p.Stages {
			if s.ID == stageID {
				return s.Metadata["probability"]
			}
		}
	}
	return ""
}
