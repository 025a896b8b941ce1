// Package logfile writes logs in the background.
//
// A full or slow disk must not delay requests, and a flood of requests must not fill the memory with
// log lines. A Writer puts lines into a bounded buffer and never waits. It drops and counts lines
// that do not fit, and logs the number of dropped lines later.
package logfile

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// bufferSize limits the lines waiting to be written, in bytes.
	bufferSize = 1 << 20
	// closeTimeout is how long Close waits for the last lines.
	closeTimeout = 2 * time.Second
)

// Writer is a log. It is safe for concurrent use.
type Writer struct {
	path string // empty for a stream

	mu      sync.Mutex
	pending []byte
	spare   []byte // the last buffer written
	dropped uint64 // lines dropped so far
	noted   uint64 // dropped lines that the log has reported
	closed  bool
	more    chan struct{} // has a value when there is something to write
	done    chan struct{} // closed when the last line has been written

	out    sync.Mutex // held while writing, and while the file is replaced
	stream io.Writer
	file   *os.File

	// note logs how many lines were dropped.
	note func(dropped uint64)
}

// New returns a log that is written to a stream.
func New(stream io.Writer) *Writer {
	w := &Writer{stream: stream, more: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Open returns a log that is appended to a file. It creates the file readable by this user only:
// a log contains the addresses of clients.
func Open(path string) (*Writer, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	w := New(file)
	w.path, w.file = path, file
	return w, nil
}

func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	return file, nil
}

// Logger returns a logger that writes to w, as JSON or as text.
func (w *Writer) Logger(json bool, level slog.Leveler) *slog.Logger {
	logger := slog.New(handler(w, json, level))
	notes := slog.New(handler(direct{w}, json, slog.LevelInfo))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note = func(dropped uint64) {
		notes.Warn("log lines were dropped because the log is written too slowly", "dropped", dropped)
	}
	return logger
}

func handler(to io.Writer, json bool, level slog.Leveler) slog.Handler {
	opt := &slog.HandlerOptions{Level: level}
	if json {
		return slog.NewJSONHandler(to, opt)
	}
	return slog.NewTextHandler(to, opt)
}

// direct bypasses the buffer. Only run uses it.
type direct struct{ *Writer }

func (d direct) Write(line []byte) (int, error) { return d.write(line) }

// Write buffers a line, or drops it if the buffer is full. Write never waits for the disk, and never
// fails, because a request cannot handle a failure of the log.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.pending)+len(line) > bufferSize {
		w.dropped++
		return len(line), nil
	}
	w.pending = append(w.pending, line...)
	select {
	case w.more <- struct{}{}:
	default:
	}
	return len(line), nil
}

// Dropped returns how many lines have been dropped, because the buffer was full or could not be
// written.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// run writes until the log is closed.
func (w *Writer) run() {
	defer close(w.done)
	for range w.more {
		w.mu.Lock()
		lines, closed := w.pending, w.closed
		w.pending, w.spare = w.spare[:0], nil
		missing := w.dropped - w.noted
		w.noted = w.dropped
		note := w.note
		w.mu.Unlock()
		failed := uint64(0)
		if len(lines) > 0 {
			if _, err := w.write(lines); err != nil {
				failed = count(lines)
			}
		}
		if missing > 0 && failed == 0 && note != nil {
			note(missing)
		}
		w.mu.Lock()
		w.spare = lines
		if failed > 0 {
			w.dropped += failed
			w.noted -= missing // to be reported once a line can be written
		}
		w.mu.Unlock()
		if closed {
			return
		}
	}
}

// count counts lines.
func count(lines []byte) (n uint64) {
	for _, c := range lines {
		if c == '\n' {
			n++
		}
	}
	return n
}

func (w *Writer) write(lines []byte) (int, error) {
	w.out.Lock()
	defer w.out.Unlock()
	return w.stream.Write(lines)
}

// Reopen opens the file again under its name, after logrotate has moved the old file away. It does
// nothing for a stream. If it fails, the log continues in the old file.
func (w *Writer) Reopen() error {
	if w.path == "" {
		return nil
	}
	file, err := openFile(w.path)
	if err != nil {
		return err
	}
	w.out.Lock()
	defer w.out.Unlock()
	if w.file == nil { // closed meanwhile
		return file.Close()
	}
	old := w.file
	w.stream, w.file = file, file
	return old.Close()
}

// Close writes the remaining lines, for at most two seconds. Later lines are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	// A value that is already in the channel is sufficient: run reads closed after receiving it.
	select {
	case w.more <- struct{}{}:
	default:
	}
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		return fmt.Errorf("close a log: its last lines could not be written within %v", closeTimeout)
	}
	w.out.Lock()
	defer w.out.Unlock()
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	return file.Close()
}
