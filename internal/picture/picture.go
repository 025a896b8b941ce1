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
	// MaxBytes is the size of the largest file.
	MaxBytes = 16 << 20
	// MaxPixels is the number of pixels of the largest picture.
	MaxPixels = 40_000_000
)

// Types are the media types of files that are accepted.
const Types = "image/jpeg, image/png, image/gif, image/webp"

// What is wrong with a file, or why it was not read.
var (
	ErrType     = errors.New("picture: not one of " + Types)
	ErrTooLarge = errors.New("picture: larger than 16 MB or 40 megapixels, or needs too much memory")
	ErrDamaged  = errors.New("picture: cannot be decoded")
	ErrBusy     = errors.New("picture: too many pictures are being made")
	ErrTime     = errors.New("picture: takes too long to decode")
)

// Kind says what a picture is for, and with that which renditions are made.
type Kind int

// The kinds of pictures.
const (
	Post   Kind = iota // as it is, 1,600 and 400 pixels wide
	Avatar             // a square, 400 and 80 pixels wide
	Header             // three times as wide as high, 1,600 and 600 pixels wide
)

// Rendition is one file of a picture, ready to be served.
type Rendition struct {
	// Name is that of the size, its width in pixels if the original has as many: "1600"
	// and "400" of a post, "400" and "80" of an avatar, "1600" and "600" of a header.
	Name          string
	Type          string // "image/jpeg", "image/png" or "image/gif"
	Width, Height int
	Data          []byte
}

// Ext returns the ending of a file's name: "jpg", "png" or "gif".
func (r Rendition) Ext() string {
	return strings.Replace(strings.TrimPrefix(r.Type, "image/"), "jpeg", "jpg", 1)
}

// Picture is what a file has become.
type Picture struct {
	Renditions []Rendition // the largest first
	Blurhash   string      // of 4 by 3 components
}

// Options of a Maker. Zero values are the defaults.
type Options struct {
	Memory  int64         // bytes that all decoding may take at once; 256 MB
	Timeout time.Duration // of one file, once it is its turn; 10 s
	Waiting int           // how many may wait for their turn; 16
}

// Maker makes pictures, as many at once as its memory allows.
type Maker struct {
	memory  int64
	timeout time.Duration
	queue   turns.Queue

	mu      sync.Mutex
	running int64 // bytes that are in use
	garbage int64 // bytes that were, and may not be collected yet
}

// atOnce is how many files are decoded at once at most: each takes at least this part of
// the memory, since the processors are for pages too.
const atOnce = 8

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

// Waiting returns how many files wait for their turn.
func (m *Maker) Waiting() int { return m.queue.Waiting() }

// Make decodes a file and encodes it anew, in the sizes of a kind. place is where the file
// comes from, such as an address: places take turns. Its error is one of this package's, or
// that of ctx; that of a file which had to wait too long for ctx is both.
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
	share := max(need, m.memory/atOnce)
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
	case limited.Err() != nil: // whatever a decoder made of it
		return Picture{}, context.Cause(limited)
	}
	return Picture{}, err
}

// start collects the garbage of earlier files before it could exceed the budget together
// with what is decoded now: left to itself, the heap grows to twice of what is in use.
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
