package picture

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"retwis/internal/turns"
)

const (
	// MaxBytes is the maximum size of a file.
	MaxBytes = 16 << 20
	// MaxPixels is the maximum number of pixels of a picture.
	MaxPixels = 40_000_000
)

// Types are the accepted media types.
const Types = "image/jpeg, image/png, image/gif, image/webp"

// Errors of Make.
var (
	ErrType     = errors.New("picture: not one of " + Types)
	ErrTooLarge = errors.New("picture: larger than 16 MB or 40 megapixels, or needs too much memory")
	ErrDamaged  = errors.New("picture: cannot be decoded")
	ErrBusy     = errors.New("picture: too many pictures are being made")
	ErrTime     = errors.New("picture: takes too long to decode")
)

// Kind is the purpose of a picture, which determines its renditions.
type Kind int

// Kinds of pictures.
const (
	Post   Kind = iota // uncropped, 1,600 and 400 pixels wide
	Avatar             // a square, 400 and 80 pixels wide
	Header             // three times as wide as high, 1,600 and 600 pixels wide
)

// Rendition is one file of a picture, ready to be served.
type Rendition struct {
	// Name is the name of the size, which is the width in pixels if the original is that large:
	// "1600" and "400" for a post, "400" and "80" for an avatar, "1600" and "600" for a header.
	Name          string
	Type          string // "image/jpeg", "image/png" or "image/gif"
	Width, Height int
	Data          []byte
}

// Ext returns the file name extension: "jpg", "png" or "gif".
func (r Rendition) Ext() string {
	return strings.Replace(strings.TrimPrefix(r.Type, "image/"), "jpeg", "jpg", 1)
}

// Picture is the result of converting a file.
type Picture struct {
	Renditions []Rendition // largest first
	Blurhash   string      // with 4 by 3 components
}

// Options configure a Maker. Zero values mean the defaults.
type Options struct {
	Memory  int64         // bytes for all concurrent decoding; default 256 MB
	Timeout time.Duration // per file, without the time in the queue; default 10 s
	Waiting int           // maximum number of waiting files; default 16
}

// Maker converts pictures, as many at once as its memory allows.
type Maker struct {
	memory  int64
	timeout time.Duration
	queue   turns.Queue

	mu      sync.Mutex
	running int64 // bytes in use
	garbage int64 // bytes that were in use, and may not have been collected yet
}

// maxConcurrent is the maximum number of files decoded concurrently, because the processors must
// also serve pages. Each file is charged at least this fraction of the memory.
const maxConcurrent = 8

// New returns a Maker.
func New(o Options) *Maker {
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Waiting <= 0 {
		o.Waiting = 16
	}
	return &Maker{
		memory: o.Memory, timeout: o.Timeout,
		queue: turns.Queue{Capacity: o.Memory, Max: o.Waiting, MaxPlace: max(1, o.Waiting/4)},
	}
}

// Waiting returns the number of files in the queue.
func (m *Maker) Waiting() int { return m.queue.Waiting() }

// Make decodes a file and encodes it again, in the sizes of a kind. place is the origin of the
// file, such as a client address: places take turns. The error is an error of this package or the
// error of ctx; if ctx ended while the file was in the queue, the error wraps both.
func (m *Maker) Make(ctx context.Context, place string, file []byte, kind Kind) (Picture, error) {
	if len(file) > MaxBytes {
		return Picture{}, ErrTooLarge
	}
	h, err := parse(file)
	if err != nil {
		return Picture{}, err
	}
	j := job{header: h, kind: kind, plan: planOf(h, kind)}
	need := h.memory + j.plan.memory()
	if need > m.memory {
		return Picture{}, ErrTooLarge
	}
	share := max(need, m.memory/maxConcurrent)
	if err := m.queue.Acquire(ctx, place, share); err != nil {
		return Picture{}, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	defer m.queue.Release(share)
	m.start(need)
	defer m.finish(need)

	limited, cancel := context.WithTimeoutCause(ctx, m.timeout, ErrTime)
	defer cancel()
	p, err := j.run(limited)
	switch {
	case err == nil:
		return p, nil
	case limited.Err() != nil: // regardless of the decoder's result
		return Picture{}, context.Cause(limited)
	}
	return Picture{}, err
}

// start records the memory of a new file. If the file and the garbage of earlier files could exceed
// the budget, it collects the garbage: otherwise the heap would grow to twice the memory in use.
func (m *Maker) start(need int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running += need
	if m.running+m.garbage > m.memory {
		runtime.GC()
		m.garbage = 0
	}
}

func (m *Maker) finish(need int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running -= need
	m.garbage += need
}
