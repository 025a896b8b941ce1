package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redis/store"
)

// If ownerEnv names a directory, this test binary runs runOwner on the directory instead of tests,
// with the Fsync option in fsyncEnv.
const (
	ownerEnv = "STORE_TEST_OWNER"
	fsyncEnv = "STORE_TEST_FSYNC"
)

// runOwner opens a directory, writes increasing numbers and prints each acknowledged number until
// the process is killed.
func runOwner() {
	opt := quiet
	opt.Fsync = os.Getenv(fsyncEnv)
	db, err := store.Open(context.Background(), "embedded:"+os.Getenv(ownerEnv), opt)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := 1; ; n++ {
		c := db.Client()
		if err := c.Do(context.Background(), c.B().Set().Key("n").Value(strconv.Itoa(n)).Build()).Error(); err != nil {
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// startOwner starts a process that runs runOwner, and returns the process and the acknowledged
// numbers.
func startOwner(t *testing.T, dir, fsync string, env ...string) (*exec.Cmd, <-chan int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), ownerEnv+"="+dir, fsyncEnv+"="+fsync), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	acknowledged := make(chan int, 1<<20)
	go func() {
		defer close(acknowledged)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Errorf("the owner printed %q", lines.Text())
				return
			}
			acknowledged <- n
		}
	}()
	return cmd, acknowledged
}

// readUntil reads acknowledged numbers up to n or to the end of the process, and returns the last
// number.
func readUntil(n int, acknowledged <-chan int) (last int) {
	for last < n {
		next, ok := <-acknowledged
		if !ok {
			break
		}
		last = next
	}
	return last
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", strings.Repeat("deep", 30)) // too deep for a socket
	url := "embedded:" + dir
	db, err := store.Open(t.Context(), url, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if db.String() != dir {
		t.Errorf("String() = %q, want %q", db, dir)
	}
	set(t, db.Client(), "k", "kept")
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory is %v (%v), want 0700", info.Mode(), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, open(t, url).Client(), "k"); got != "kept" {
		t.Errorf("GET k = %q after a restart, want %q", got, "kept")
	}
}

func TestEmbeddedDefaultDirectory(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for want, env := range map[string]map[string]string{
		filepath.Join(home, ".local", "share", "retwis"): {"HOME": home},
		filepath.Join(home, "xdg", "retwis"):             {"HOME": home, "XDG_DATA_HOME": filepath.Join(home, "xdg")},
	} {
		opt := quiet
		opt.Getenv = func(name string) string { return env[name] }
		db, err := store.Open(t.Context(), "embedded:", opt)
		if err != nil {
			t.Fatal(err)
		}
		if db.String() != want {
			t.Errorf("the data directory is %s, want %s", db, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A second store on the same directory joins the server of the first, and continues when the first
// is closed.
func TestEmbeddedJoin(t *testing.T) {
	t.Parallel()
	url := "embedded:" + t.TempDir()
	first, err := store.Open(t.Context(), url, quiet)
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, url)
	set(t, first.Client(), "k", "shared")
	if got := get(t, second.Client(), "k"); got != "shared" {
		t.Errorf("GET k = %q through the second store, want %q", got, "shared")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second store to take over", func() bool {
		c := second.Client()
		value, err := c.Do(t.Context(), c.B().Get().Key("k").Build()).ToString()
		return err == nil && value == "shared"
	})
	set(t, second.Client(), "k", "second")
}

// A killed server is restarted with all acknowledged writes.
func TestEmbeddedServerDies(t *testing.T) {
	t.Parallel()
	opt := quiet
	opt.Fsync = "always"
	db, err := store.Open(t.Context(), "embedded:"+t.TempDir(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for round := range 3 {
		want := fmt.Sprint(round)
		set(t, db.Client(), "k", want)
		pid := serverPid(t, db)
		kill(t, pid)
		eventually(t, "the server to restart", func() bool {
			c := db.Client()
			got, err := c.Do(t.Context(), c.B().Get().Key("k").Build()).ToString()
			if err == nil && got != want {
				t.Fatalf("GET k = %q, want %q", got, want)
			}
			return err == nil && !slices.Contains([]int{0, pid}, serverPid(t, db))
		})
	}
}

// With the default settings, a killed server loses at most the last second of writes.
func TestEmbeddedServerDiesEverySecond(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:"+t.TempDir())
	pid := serverPid(t, db)
	type write struct {
		n  int
		at time.Time
	}
	var acknowledged []write
	for began := time.Now(); time.Since(began) < 1300*time.Millisecond; {
		set(t, db.Client(), "n", fmt.Sprint(len(acknowledged)))
		acknowledged = append(acknowledged, write{len(acknowledged), time.Now()})
	}
	killed := time.Now()
	kill(t, pid)
	eventually(t, "the server to restart", func() bool { return !slices.Contains([]int{0, pid}, serverPid(t, db)) })
	got, err := strconv.Atoi(get(t, db.Client(), "n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range acknowledged {
		if w.n > got && killed.Sub(w.at) > time.Second {
			t.Errorf("%d was acknowledged %s before the server died, but %d was found", w.n, killed.Sub(w.at), got)
		}
	}
	t.Logf("%d acknowledged, %d found", len(acknowledged)-1, got)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 1 { // kill(2) would signal a process group
		t.Fatalf("%d is not the process ID of a server", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// serverPid returns the process ID of the server, or 0 if there is none.
func serverPid(t *testing.T, db *store.Store) int {
	t.Helper()
	info, err := db.Client().Do(t.Context(), db.Client().B().Info().Section("server").Build()).ToString()
	if err != nil {
		return 0
	}
	for line := range strings.Lines(info) {
		if pid, ok := strings.CutPrefix(line, "process_id:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(pid))
			return n
		}
	}
	return 0
}

// After the owner is killed during its writes, the next start finds all acknowledged writes with
// either fsync setting.
func TestEmbeddedOwnerKilled(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"everysec", "always"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, acknowledged := startOwner(t, dir, fsync)
			want := readUntil(300, acknowledged)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			want = max(want, readUntil(math.MaxInt, acknowledged))
			got, err := strconv.Atoi(get(t, open(t, "embedded:"+dir).Client(), "n"))
			if err != nil || got < want {
				t.Errorf("found %d (%v), want at least the acknowledged %d", got, err, want)
			}
			t.Logf("fsync %s: %d acknowledged, %d found", fsync, want, got)
		})
	}
}

// A store joins the server of another process, and takes over when that process is killed.
func TestEmbeddedTakesOverFromKilledOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, acknowledged := startOwner(t, dir, "everysec")
	<-acknowledged
	db := open(t, "embedded:"+dir)
	set(t, db.Client(), "k", "v")
	ownerPid := serverPid(t, db)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server to be taken over", func() bool { return !slices.Contains([]int{0, ownerPid}, serverPid(t, db)) })
	if got := get(t, db.Client(), "k"); got != "v" {
		t.Errorf("GET k = %q after the server was taken over", got)
	}
	set(t, db.Client(), "k", "w")
}

// The server of a killed owner still answers until the server has exited. A process that opens the
// directory in the meantime does not join that server, and none of its commands fails.
func TestEmbeddedDoesNotJoinDyingServer(t *testing.T) {
	t.Parallel()
	for range 3 {
		dir := t.TempDir()
		cmd, acknowledged := startOwner(t, dir, "everysec")
		<-acknowledged
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		c := open(t, "embedded:"+dir).Client()
		for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
			if err := c.Do(t.Context(), c.B().Incr().Key("counter").Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Processes with different environments find the same server even if the path of the directory is
// too long for a socket.
func TestEmbeddedJoinElsewhere(t *testing.T) {
	t.Parallel()
	runtimeDir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtimeDir) })
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	cmd, acknowledged := startOwner(t, dir, "everysec", "XDG_RUNTIME_DIR="+runtimeDir)
	<-acknowledged
	db := open(t, "embedded:"+dir)
	set(t, db.Client(), "k", "v")
	ownerPid := serverPid(t, db)
	if sockets, err := filepath.Glob(filepath.Join(runtimeDir, "*.sock")); err != nil || len(sockets) != 1 {
		t.Errorf("sockets in the runtime directory of the owner: %v (%v), want 1", sockets, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server to be taken over", func() bool { return !slices.Contains([]int{0, ownerPid}, serverPid(t, db)) })
	if got := get(t, db.Client(), "k"); got != "v" {
		t.Errorf("GET k = %q after the server was taken over", got)
	}
}

// A write that a power failure has truncated does not prevent earlier writes from being loaded.
func TestEmbeddedTruncated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), "embedded:"+dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	set(t, db.Client(), "k", "whole")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if len(files) == 0 { // before version 7 there was one file
		files, err = filepath.Glob(filepath.Join(dir, "appendonly.aof"))
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files: %v (%v), want 1", files, err)
	}
	file, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nha"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if got := get(t, open(t, "embedded:"+dir).Client(), "k"); got != "whole" {
		t.Errorf("GET k = %q, want %q", got, "whole")
	}
}

func TestEmbeddedRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/retwis"} {
		_, err := store.Open(t.Context(), "embedded:"+dir, quiet)
		if err == nil || !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), file) {
			t.Errorf("embedded:%s: %v, want an error with the path", dir, err)
		}
	}
	opt := quiet
	opt.Getenv = func(string) string { return "" }
	if _, err := store.Open(t.Context(), "embedded:", opt); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("Open without HOME: %v, want an error about HOME", err)
	}
	opt.Getenv = func(name string) string {
		return map[string]string{"RETWIS_REDIS_SERVER": "/no/such/server", "HOME": t.TempDir()}[name]
	}
	if _, err := store.Open(t.Context(), "embedded:", opt); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "RETWIS_REDIS_SERVER") {
		t.Errorf("Open without a server: %v, want an error about RETWIS_REDIS_SERVER", err)
	}
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// If root opens the directory of another user, that user also owns the lock file, so that the
// user's next process can lock the file. All other users are rejected.
func TestDirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if _, err := store.Open(t.Context(), "embedded:/", quiet); err == nil || !strings.Contains(err.Error(), "/ belongs to root; run the command as that user") {
			t.Errorf("Open of a directory of root: %v", err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "retwis-owner")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	open(t, "embedded:"+dir)
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != nobody {
		t.Errorf("the lock file belongs to %d, want %d", owner, nobody)
	}
}
