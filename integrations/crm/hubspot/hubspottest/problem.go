package hubspottest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// problem is an error in HubSpot's form.
func (s *Server) problem(category, message string) map[string]any {
	p := map[string]any{"status": "error", "message": message, "correlationId": s.correlation()}
	if category != "" {
		p["category"] = category
	}
	return p
}

func (s *Server) wrong(status int, category, message string) answer {
	return answer{status: status, header: http.Header{}, body: s.problem(category, message)}
}

// nowhere is what an unknown path gets: a page and not a problem.
func (s *Server) nowhere() answer {
	return answer{status: http.StatusNotFound, header: http.Header{}, body: "<html><body><h1>404 Not Found</h1></body></html>"}
}

func (s *Server) notFound() answer {
	return s.wrong(http.StatusNotFound, "OBJECT_NOT_FOUND", "resource not found")
}

// missingScopes is the refusal of a token that may not do what it was used for.
func (s *Server) missingScopes(scopes ...string) answer {
	p := s.problem("MISSING_SCOPES", "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: https://developers.hubspot.com/scopes.")
	p["links"] = map[string]string{"scopes": "https://developers.hubspot.com/scopes"}
	p["errors"] = []any{map[string]any{
		"message": "One or more of the following scopes are required.",
		"context": map[string]any{"requiredGranularScopes": scopes},
	}}
	return answer{status: http.StatusForbidden, header: http.Header{}, body: p}
}

// exists is the refusal of a second contact with an address.
func (s *Server) exists(id string) answer {
	return s.wrong(http.StatusConflict, "CONFLICT", "Contact already exists. Existing ID: "+id)
}

// invalid is one property that was refused.
type invalid struct {
	IsValid   bool   `json:"isValid"`
	Message   string `json:"message"`
	Error     string `json:"error"`
	Name      string `json:"name"`
	Localized string `json:"localizedErrorMessage"`
}

// invalidProperties lists refused properties in the text of the message, as HubSpot does.
func (s *Server) invalidProperties(faults []invalid) answer {
	list, err := json.Marshal(faults)
	if err != nil {
		return s.wrong(http.StatusInternalServerError, "", err.Error())
	}
	return s.wrong(http.StatusBadRequest, "VALIDATION_ERROR", "Property values were not valid: "+string(list))
}

// correlation makes an id like HubSpot's.
func (s *Server) correlation() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", s.serial, s.serial)
}
