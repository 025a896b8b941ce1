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

// Every line is in the file, complete, when the log is closed.
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
		var one struct{ I, J int }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		seen[fmt.Sprint(one.I, " ", one.J)] = true
	}
	if len(seen) != 1600 || w.Dropped() != 0 {
		t.Errorf("%d lines, %d dropped", len(seen), w.Dropped())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	log.Info("late")
	if w.Dropped() != 1 {
		t.Error("a line after the end was not counted")
	}
}

// stuck is a disk that accepts nothing until it is released.
type stuck struct {
	release chan struct{}
	bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

// A stuck disk blocks nobody. The lines that did not fit are counted, and the log reports them.
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
		t.Errorf("%d of %d lines dropped", dropped, lines)
	}
	close(disk.release)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := disk.String()
	var reported uint64 // in several lines if the disk got stuck late
	for _, found := range regexp.MustCompile(`dropped=(\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseUint(found[1], 10, 64)
		reported += n
	}
	if reported != dropped {
		t.Errorf("the log reports %d missing lines, but %d are missing", reported, dropped)
	}
	if n := strings.Count(text, long); uint64(n)+dropped != lines {
		t.Errorf("%d lines written, %d dropped, of %d", n, dropped, lines)
	}
}

// full is a disk that is full for a while.
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
		t.Errorf("%d dropped: %s", w.Dropped(), text)
	}
}

// After a rotation the lines go to a new file, and none is lost.
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
		t.Errorf("%q, %q", old, now)
	}
	if _, err := logfile.Open(filepath.Join(path, "below-a-file")); err == nil {
		t.Error("a file that cannot be created")
	}
}
