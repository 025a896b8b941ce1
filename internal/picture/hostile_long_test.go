//go:build long

package picture

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// hostile is a malicious file.
type hostile struct {
	name string
	file []byte
}

// hostileFiles generates the files one at a time, so that they take no memory themselves.
func hostileFiles(tb testing.TB, send func(h hostile)) {
	tb.Helper()
	add := func(name string, file []byte) { send(hostile{name, file}) }
	damagedFiles(tb, add)
	otherFiles(add)
	jpegBombs(tb, add)
	pngBombs(tb, add)
	gifBombs(tb, add)
	webPBombs(tb, add)
}

// heap samples the heap size until stop is called, which returns the maximum growth.
func heap() (stop func() int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := read()
	var peak atomic.Int64
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				peak.Store(max(peak.Load(), read()))
			}
		}
	}()
	return func() int64 {
		close(quit)
		<-done
		return peak.Load() - before
	}
}

// TestHostileFiles submits all files, one by one and eight at once: each is rejected with an
// error of this package, or is converted to pictures that can be decoded, within 300 MB. It is
// not parallel because it measures memory.
func TestHostileFiles(t *testing.T) {
	m := New(Options{Timeout: time.Second, Waiting: 1000})
	var made, refused atomic.Int64
	check := func(h hostile, kind Kind) {
		p, err := m.Make(t.Context(), fmt.Sprint(kind), h.file, kind)
		if err != nil {
			refused.Add(1)
			known := []error{ErrType, ErrTooLarge, ErrDamaged, ErrTime}
			if !slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }) {
				t.Errorf("%s: %v", h.name, err)
			}
			return
		}
		made.Add(1)
		for _, r := range p.Renditions {
			decoded(t, r)
			for _, text := range []string{secret, "alert", "PK\x03\x04", "ICC_PROFILE"} {
				if bytes.Contains(r.Data, []byte(text)) {
					t.Errorf("%s is passed on with %q", h.name, text)
				}
			}
		}
	}
	longest := time.Duration(0)
	stop := heap()
	hostileFiles(t, func(h hostile) {
		began := processorTime(t)
		check(h, Kind(refused.Load()%3))
		longest = max(longest, processorTime(t)-began)
	})
	alone := stop()
	t.Logf("%d files: %d refused, %d made, within %s of processor time and %d MB", refused.Load()+made.Load(), refused.Load(), made.Load(), longest.Round(time.Millisecond), alone>>20)
	if refused.Load()+made.Load() < 200 || longest > 10*time.Second {
		t.Errorf("%d files, one of which took %s", refused.Load()+made.Load(), longest)
	}

	stop = heap()
	files := make(chan hostile)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for h := range files {
				check(h, Post)
			}
		})
	}
	hostileFiles(t, func(h hostile) { files <- h })
	close(files)
	wg.Wait()
	together := stop()
	t.Logf("eight at once: %d MB", together>>20)
	if alone > 300<<20 || together > 300<<20 {
		t.Error("more than 300 MB")
	}
}

// processorTime returns the CPU time that this process has used: other processes use the rest of
// a busy machine.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
