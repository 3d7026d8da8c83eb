package sanitytest

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// EndStreams ends all open event streams: after a last event, such as goaway at a connection
// limit, or without one as if their connections were cut.
func (s *Server) EndStreams(lastEvent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts, s.lastEvent = s.cuts+1, lastEvent
	s.notify()
}

// Silence stops event streams from sending data, or resumes them.
func (s *Server) Silence(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
	s.notify()
}

// notify informs the streams of a state change. The caller holds the lock.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// stream sends events until it is cut, the client disconnects or the server closes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sent, cuts := len(s.events), s.cuts
	s.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	text := "event: welcome\ndata: {}\n\n"
	for {
		s.mu.Lock()
		changed, ended := s.changed, s.cuts > cuts
		for ; sent < len(s.events); sent++ {
			if draft := s.events[sent]; !draft || r.URL.Query().Get("includeDrafts") == "true" {
				text += fmt.Sprintf("event: message\nid: %d\ndata: {\"tags\":[\"s1:any\"]}\n\n", sent+1)
			}
		}
		if s.silent {
			text = ""
		}
		if ended && s.lastEvent != "" {
			text += fmt.Sprintf("event: %s\ndata: {\"reason\":\"test\"}\n\n", s.lastEvent)
		}
		s.mu.Unlock()

		_, err := io.WriteString(w, text)
		if http.NewResponseController(w).Flush() != nil || err != nil {
			return
		}
		if ended {
			panic(http.ErrAbortHandler)
		}

		text = ""
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-time.After(5 * time.Second):
			text = ": keep-alive\n\n"
		}
	}
}
