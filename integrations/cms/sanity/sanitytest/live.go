package sanitytest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// live is the event stream of the Live Content API.
type live struct {
	mu      sync.Mutex
	events  []event       // that can be resumed after
	last    int           // id of the latest event
	changed chan struct{} // closed with every change of what follows and of events
	silent  bool          // streams send nothing
	cuts    int           // number of times that all streams were ended
	parting string        // event that streams end with; empty: they are cut
}

// event is one event of the stream.
type event struct {
	id   int
	kind string // "message" or "restart"
	// draft means that only streams with drafts have the event.
	draft bool
}

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
			s.live.last++
			s.live.events = append(s.live.events, event{s.live.last, "message", draft})
		}
		id = s.live.last
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

// ForgetEvents loses all events so far: clients that resume after one are told to start over.
func (s *Server) ForgetEvents() {
	s.live.update(func() {
		s.live.last++
		s.live.events = []event{{s.live.last, "restart", false}}
	})
}

// stream sends events until it is cut, the client is gone or the server closes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	l := &s.live
	l.mu.Lock()
	sent, cuts := l.last, l.cuts
	if text := r.Header.Get("Last-Event-Id"); text != "" {
		sent = -1 // an unknown id is as old as can be
		if id, err := strconv.Atoi(text); err == nil && id <= l.last {
			sent = id
		}
	}
	l.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	text := "event: welcome\ndata: {}\n\n"
	for {
		l.mu.Lock()
		changed, ended := l.changed, l.cuts > cuts
		if !l.silent {
			for _, e := range l.events {
				if e.id > sent {
					if !e.draft || r.URL.Query().Get("includeDrafts") == "true" {
						text += e.text()
					}
					sent = e.id
				}
			}
		}
		if l.silent {
			text = ""
		}
		if ended && l.parting != "" {
			text += fmt.Sprintf("event: %s\nid: %d\ndata: {\"reason\":\"told to\"}\n\n", l.parting, sent)
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

// text is an event as it is sent.
func (e event) text() string {
	return fmt.Sprintf("event: %s\nid: %d\ndata: {\"tags\":[\"s1:any\"]}\n\n", e.kind, e.id)
}
