package telemetry

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"

	"siteapi/cmd/siteapi/internal/config"
)

// NewLogger returns the log of the service, and a function that writes what it holds back.
// The console is for a developer who watches: it holds nothing back.
func NewLogger(s *config.Settings, out io.Writer) (zerolog.Logger, func()) {
	buffer := &logBuffer{out: out}
	w, flush := io.Writer(buffer), func() { _ = buffer.Flush() }
	if s.LogFormat == "console" {
		w, flush = ConsoleWriter(out), func() {}
	}
	return zerolog.New(w).Level(s.LogLevel).With().Timestamp().Logger(), flush
}

// ConsoleWriter prints events for people: time, level, message, fields; coloured on a
// terminal only.
func ConsoleWriter(out io.Writer) io.Writer {
	file, ok := out.(*os.File)
	return zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !ok || !term.IsTerminal(int(file.Fd()))}
}

// TraceFields adds the trace and the span to log lines of what is traced.
type TraceFields struct{}

// Run implements [zerolog.Hook].
func (TraceFields) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if at := trace.SpanContextFromContext(e.GetCtx()); at.IsValid() {
		e.Str("trace_id", at.TraceID().String()).Str("span_id", at.SpanID().String())
	}
}

const (
	logBufferSize = 32 << 10
	logDelay      = 100 * time.Millisecond // of an event below warning
)

// logBuffer collects events for a moment, so that a busy service does not pay for one
// system call per request. Warnings and errors, with everything before them, are written
// at once: they are what an operator must find after a crash.
type logBuffer struct {
	mu    sync.Mutex
	out   io.Writer
	buf   []byte
	timer *time.Timer // runs while something is held back
}

// Write writes an event of no level at once.
func (w *logBuffer) Write(p []byte) (int, error) { return w.WriteLevel(zerolog.NoLevel, p) }

// WriteLevel takes one event.
func (w *logBuffer) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	switch {
	case level >= zerolog.WarnLevel || len(w.buf) >= logBufferSize:
		return len(p), w.flush()
	case w.timer == nil:
		w.timer = time.AfterFunc(logDelay, func() { _ = w.Flush() })
	}
	return len(p), nil
}

// Flush writes what is held back.
func (w *logBuffer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *logBuffer) flush() error {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}
