package logfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"retwis/internal/logfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// After Close, the file contains every line in full.
func TestConcurrentLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := logfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	log := w.Logger(true, slog.LevelInfo)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				log.Info("line", "i", i, "j", j)
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		var entry struct{ I, J int }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		seen[fmt.Sprint(entry.I, " ", entry.J)] = true
	}
	if len(seen) != 1600 || w.Dropped() != 0 {
		t.Errorf("%d distinct lines, %d dropped; want 1600 and 0", len(seen), w.Dropped())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v, %v; want 0600", info.Mode(), err)
	}
	log.Info("late")
	if w.Dropped() != 1 {
		t.Error("a line logged after Close was not counted as dropped")
	}
}

// stuck is a disk whose writes block until release is closed.
type stuck struct {
	release chan struct{}
	bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

// A stuck disk does not block callers. Dropped lines are counted, and the log reports the count.
func TestStuck(t *testing.T) {
	t.Parallel()
	disk := &stuck{release: make(chan struct{})}
	w := logfile.New(disk)
	log := w.Logger(false, slog.LevelInfo)
	const lines = 5000
	long := strings.Repeat("x", 1000)
	for range lines {
		log.Info(long)
	}
	dropped := w.Dropped()
	if dropped < lines/2 || dropped >= lines {
		t.Errorf("%d of %d lines dropped, want at least half and not all", dropped, lines)
	}
	close(disk.release)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := disk.String()
	var reported uint64 // the log may report the count in several lines
	for _, m := range regexp.MustCompile(`dropped=(\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		reported += n
	}
	if reported != dropped {
		t.Errorf("the log reports %d dropped lines, want %d", reported, dropped)
	}
	if n := strings.Count(text, long); uint64(n)+dropped != lines {
		t.Errorf("%d lines written, %d dropped, of %d", n, dropped, lines)
	}
}

// full is a disk whose writes fail while full is set.
type full struct {
	mu   sync.Mutex
	full bool
	bytes.Buffer
	tried chan struct{}
}

func (f *full) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		f.tried <- struct{}{}
		return 0, errors.New("no space left on device")
	}
	return f.Buffer.Write(p)
}

// Writing resumes on a disk that was full.
func TestFull(t *testing.T) {
	t.Parallel()
	disk := &full{full: true, tried: make(chan struct{}, 1)}
	w := logfile.New(disk)
	log := w.Logger(false, slog.LevelInfo)
	log.Info("lost")
	<-disk.tried
	disk.mu.Lock()
	disk.full = false
	disk.mu.Unlock()
	log.Info("kept")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if text := disk.String(); strings.Contains(text, "lost") || !strings.Contains(text, "kept") || w.Dropped() != 1 {
		t.Errorf("%d lines dropped, want 1: %s", w.Dropped(), text)
	}
}

// After a rotation, lines go to a new file, and no line is lost.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := logfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if _, err := io.WriteString(w, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	old, _ := os.ReadFile(path + ".1")
	now, _ := os.ReadFile(path)
	if string(old)+string(now) != "one\ntwo\n" || !strings.Contains(string(now), "two") {
		t.Errorf("old file %q, new file %q", old, now)
	}
	if _, err := logfile.Open(filepath.Join(path, "below-a-file")); err == nil {
		t.Error("Open succeeded for a path below a regular file")
	}
}
