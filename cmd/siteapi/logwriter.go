package main

import (
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Bounds of what a logWriter holds back.
const (
	logBuffer = 32 << 10               // bytes
	logDelay  = 100 * time.Millisecond // of an event below warning
)

// logWriter collects events for a moment, so that a busy service does not pay for one
// system call per request. Warnings and errors, with everything before them, are
// written at once: they are what an operator must find after a crash.
type logWriter struct {
	mu    sync.Mutex
	out   io.Writer
	buf   []byte
	timer *time.Timer // runs while something is held back
}

func newLogWriter(out io.Writer) *logWriter {
	return &logWriter{out: out, buf: make([]byte, 0, logBuffer)}
}

// Write writes an event of no level at once.
func (w *logWriter) Write(p []byte) (int, error) { return w.WriteLevel(zerolog.NoLevel, p) }

// WriteLevel takes one event.
func (w *logWriter) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	switch {
	case level >= zerolog.WarnLevel || len(w.buf) >= logBuffer-(4<<10):
		return len(p), w.flush()
	case w.timer == nil:
		w.timer = time.AfterFunc(logDelay, func() { _ = w.Flush() })
	}
	return len(p), nil
}

// Flush writes what is held back.
func (w *logWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *logWriter) flush() error {
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
