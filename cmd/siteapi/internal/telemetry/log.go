package telemetry

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/term"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema/request"
)

// NewLogger returns the logger of the service.
func NewLogger(s *config.Settings, out io.Writer) zerolog.Logger {
	if s.LogFormat == "console" {
		out = ConsoleWriter(out)
	}
	return zerolog.New(out).Level(s.LogLevel).With().Timestamp().Logger()
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
