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

// hostileFiles sends the malicious files one at a time, so that they are not all in memory.
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

// heap samples the heap size until stop is called. stop returns the maximum growth in bytes.
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

// TestHostileFiles submits all files, first one at a time and then eight at once. Each file must be
// rejected with an error of this package or be converted to pictures that can be decoded. The heap
// must not grow by more than 300 MB. The test is not parallel because it measures memory.
func TestHostileFiles(t *testing.T) {
	m := New(Options{Timeout: time.Second, Waiting: 1000})
	var made, refused atomic.Int64
	check := func(h hostile, kind Kind) {
		p, err := m.Make(t.Context(), fmt.Sprint(kind), h.file, kind)
		if err != nil {
			refused.Add(1)
			known := []error{ErrType, ErrTooLarge, ErrDamaged, ErrTime}
			if !slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }) {
				t.Errorf("%s: %v, want an error of this package", h.name, err)
			}
			return
		}
		made.Add(1)
		for _, r := range p.Renditions {
			decoded(t, r)
			for _, text := range []string{secret, "alert", "PK\x03\x04", "ICC_PROFILE"} {
				if bytes.Contains(r.Data, []byte(text)) {
					t.Errorf("%s: rendition contains %q", h.name, text)
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
	sequential := stop()
	t.Logf("%d files: %d refused, %d made, within %s of processor time and %d MB", refused.Load()+made.Load(), refused.Load(), made.Load(), longest.Round(time.Millisecond), sequential>>20)
	if refused.Load()+made.Load() < 200 || longest > 10*time.Second {
		t.Errorf("submitted %d files, want at least 200; the slowest took %s, want at most 10s", refused.Load()+made.Load(), longest)
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
	concurrent := stop()
	t.Logf("eight at once: %d MB", concurrent>>20)
	if sequential > 300<<20 || concurrent > 300<<20 {
		t.Errorf("heap grew by %d MB sequentially and %d MB concurrently, want at most 300 MB", sequential>>20, concurrent>>20)
	}
}

// processorTime returns the CPU time of this process, which does not depend on the load of other
// processes.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
