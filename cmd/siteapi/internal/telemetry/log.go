package telemetry

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema/request"
)

// Log is the output of the service's logger. Its reader can neither delay nor end the
// service: lines that it does not take in time, or at all, are dropped and counted.
type Log struct {
	zerolog.Logger
	dropped prometheus.Counter

	lines   chan []byte   // nil: all lines before it are written
	flushed chan struct{} // one value for each nil
}

// waitingLines is the number of lines that wait for a slow reader.
const waitingLines = 4096

// NewLog returns the log of the service.
func NewLog(s *config.Settings, out io.Writer, m *Metrics) *Log {
	if s.LogFormat == "console" {
		out = ConsoleWriter(out)
	}
	l := &Log{
		dropped: m.logDropped,
		lines:   make(chan []byte, waitingLines),
		flushed: make(chan struct{}, 1),
	}
	l.Logger = zerolog.New(l).Level(s.LogLevel).With().Timestamp().Logger()
	go l.write(out)
	return l
}

// Write implements [io.Writer] for the logger.
func (l *Log) Write(line []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(line):
	default:
		l.dropped.Inc()
	}
	return len(line), nil
}

func (l *Log) write(out io.Writer) {
	for line := range l.lines {
		if line == nil {
			l.flushed <- struct{}{}
		} else if _, err := out.Write(line); err != nil {
			l.dropped.Inc()
		}
	}
}

// Flush waits until all lines are written, for a second at most.
func (l *Log) Flush() {
	timeout := time.After(time.Second)
	select {
	case l.lines <- nil:
	case <-timeout:
		return
	}
	select {
	case <-l.flushed:
	case <-timeout:
	}
}

// ConsoleWriter prints events in a readable form, with colors on a terminal.
func ConsoleWriter(out io.Writer) io.Writer {
	file, ok := out.(*os.File)
	return zerolog.ConsoleWriter{
		Out:        out,
		TimeFormat: time.TimeOnly,
		NoColor:    !ok || !term.IsTerminal(int(file.Fd())),
	}
}

// RequestFields adds the request id to events with the context of a request, and the
// trace and span ids if it is traced.
type RequestFields struct{}

// Run implements [zerolog.Hook].
func (RequestFields) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if id := request.CallerFrom(e.GetCtx()).RequestID; id != "" {
		e.Str("request_id", id)
	}
	if at := trace.SpanContextFromContext(e.GetCtx()); at.IsValid() {
		e.Str("trace_id", at.TraceID().String()).Str("span_id", at.SpanID().String())
	}
}
