// Package panics describes panics for the log.
package panics

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"
)

// maxBytes limits a description, so that an event of the log has less than 1 KB.
const maxBytes = 600

// Log describes panics. Each place has its stack once a minute, since a client may be able
// to repeat a panic. The zero value is ready for use.
type Log struct {
	mu   sync.Mutex
	last map[string]time.Time // time of the last stack, by place
}

// Describe returns the value and the place of the panic that the caller is recovering from,
// and the calls that led there, innermost first.
func (l *Log) Describe(value any) string {
	calls := callers()
	l.mu.Lock()
	defer l.mu.Unlock()

	if now := time.Now(); now.Sub(l.last[calls[0]]) < time.Minute {
		calls = calls[:1]
	} else {
		if l.last == nil {
			l.last = map[string]time.Time{}
		}
		l.last[calls[0]] = now
	}

	text := fmt.Sprint(value)
	text = fmt.Sprintf("%s at %s", text[:min(len(text), maxBytes/4)], strings.Join(calls, " < "))
	return text[:min(len(text), maxBytes)]
}

// callers returns the file and line of each call that led to a panic.
func callers() []string {
	counters := make([]uintptr, 100)
	frames := runtime.CallersFrames(counters[:runtime.Callers(0, counters)])

	var list []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == "runtime.gopanic" {
			list = nil // The frames below led to the panic.
		} else if !strings.HasPrefix(f.Function, "runtime.") {
			list = append(list,
				fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(f.File)), path.Base(f.File), f.Line))
		}
	}
	return list
}
