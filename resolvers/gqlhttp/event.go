package gqlhttp

import (
	"net/http"

	"siteapi/schema"
)

// Outcome is what became of a request.
type Outcome uint8

// The outcomes of a request.
const (
	Refused  Outcome = iota // nothing was executed
	Executed                // the operation ran
	Kept                    // a kept answer was sent, nothing was parsed or executed
)

// String returns the outcome as a word for metrics.
func (o Outcome) String() string {
	switch o {
	case Executed:
		return "executed"
	case Kept:
		return "kept"
	default:
		return "refused"
	}
}

// Event describes one answered request.
type Event struct {
	Outcome Outcome
	// Operation is the name of the root field, "multiple" where there are several,
	// "introspection", or empty where no operation was found. Few different values.
	Operation string
	// Code is that of the first error, empty where there is none.
	Code schema.Code
	// Status is the HTTP status of the answer.
	Status int
}

func (h *Handler) tell(w http.ResponseWriter, r *http.Request, e Event) {
	if h.observe != nil {
		h.observe(w, r, e)
	}
}
