package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestLogWriterHoldsBackOnlyWhatCanWait(t *testing.T) {
	t.Parallel()
	out := &syncBuffer{}
	w := newLogWriter(out)
	log := zerolog.New(w)
	log.Info().Msg("first")
	if got := out.String(); got != "" {
		t.Errorf("an info event was written at once: %s", got)
	}
	log.Error().Msg("second")
	if got := out.String(); !strings.Contains(got, "first") || !strings.Contains(got, "second") || strings.Index(got, "first") > strings.Index(got, "second") {
		t.Errorf("after an error the log is %q", got)
	}
	log.Info().Msg("third")
	eventually(t, "an info event is written after a moment", func() bool { return strings.Contains(out.String(), "third") })
	log.Info().Msg("fourth")
	if err := w.Flush(); err != nil || !strings.Contains(out.String(), "fourth") {
		t.Errorf("after a flush the log is %q, %v", out.String(), err)
	}
	for range 2000 {
		log.Info().Str("filler", strings.Repeat("x", 100)).Msg("many")
	}
	if n := len(out.String()); n < 100_000 {
		t.Errorf("%d bytes are written of a full buffer", n)
	}
}

func TestLogWriterReportsErrors(t *testing.T) {
	t.Parallel()
	w := newLogWriter(failingWriter{})
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("an event that could not be written is no error")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }
