package sanitytest

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// live is the event stream of the Live Content API.
type live struct {
	mu      sync.Mutex
	events  []event       // in the order of their ids, which count from 1
	changed chan struct{} // closed with every change of what follows and of events
	silent  bool          // streams send nothing
	cuts    int           // number of times that all streams were ended
	parting string        // event that streams end with; empty: they are cut
}

// event is one event of the stream; true if only streams with drafts have it.
type event bool

// update changes the state of the streams, and lets them see it.
func (l *live) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

// happened announces the change of some documents and returns the id of its event.
func (s *Server) happened(docs ...document) (id int) {
	draft := true
	for _, d := range docs {
		draft = draft && !isPublished(d.id)
	}

	s.live.update(func() {
		if len(docs) > 0 {
			s.live.events = append(s.live.events, event(draft))
		}
		id = len(s.live.events)
	})
	return id
}

// CutStreams ends all open event streams without a word.
func (s *Server) CutStreams() { s.endStreams("") }

// SendAway ends all open event streams as at a limit of connections.
func (s *Server) SendAway() { s.endStreams("goaway") }

// Reconnect asks the clients of all open event streams to connect again.
func (s *Server) Reconnect() { s.endStreams("reconnect") }

func (s *Server) endStreams(parting string) {
	s.live.update(func() { s.live.cuts, s.live.parting = s.live.cuts+1, parting })
}

// Silence keeps event streams from sending anything until it is called with false.
func (s *Server) Silence(silent bool) {
	s.live.update(func() { s.live.silent = silent })
}

// stream sends events until it is cut, the client is gone or the server closes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	l := &s.live
	l.mu.Lock()
	sent, cuts := len(l.events), l.cuts
	l.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	text := "event: welcome\ndata: {}\n\n"
	for {
		l.mu.Lock()
		changed, ended := l.changed, l.cuts > cuts
		for ; sent < len(l.events); sent++ {
			if !l.events[sent] || r.URL.Query().Get("includeDrafts") == "true" {
				text += fmt.Sprintf("event: message\nid: %d\ndata: {\"tags\":[\"s1:any\"]}\n\n", sent+1)
			}
		}
		if l.silent {
			text = ""
		}
		if ended && l.parting != "" {
			text += fmt.Sprintf("event: %s\ndata: {\"reason\":\"told to\"}\n\n", l.parting)
		}
		l.mu.Unlock()

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
