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

// ownerEnv makes this test binary open the directory that it names, write continuously, and print
// what was acknowledged: a process to be killed.
const (
	ownerEnv = "STORE_TEST_OWNER"
	fsyncEnv = "STORE_TEST_FSYNC"
)

func own() {
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

// owner starts such a process and returns the numbers that it acknowledges.
func owner(t *testing.T, dir, fsync string, env ...string) (*exec.Cmd, <-chan int) {
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

// until reads acknowledgments up to n, or to the end of the process, and returns the last one.
func until(n int, acknowledged <-chan int) (last int) {
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
		t.Errorf("the directory has the mode %v (%v)", info.Mode(), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, open(t, url).Client(), "k"); got != "kept" {
		t.Errorf("k = %q after a restart", got)
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
			t.Errorf("the data is in %s, want %s", db, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A second process on the same directory joins the first, and continues when the first is gone.
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
		t.Errorf("k = %q through the second", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second to take over", func() bool {
		c := second.Client()
		value, err := c.Do(t.Context(), c.B().Get().Key("k").Build()).ToString()
		return err == nil && value == "shared"
	})
	set(t, second.Client(), "k", "mine")
}

// A server that dies is restarted, with everything that was acknowledged.
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
		eventually(t, "the server to be back", func() bool {
			c := db.Client()
			got, err := c.Do(t.Context(), c.B().Get().Key("k").Build()).ToString()
			if err == nil && got != want {
				t.Fatalf("k = %q, want %q", got, want)
			}
			return err == nil && !slices.Contains([]int{0, pid}, serverPid(t, db))
		})
	}
}

// With the default settings a server that dies loses at most a second.
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
	eventually(t, "the server to be back", func() bool { return !slices.Contains([]int{0, pid}, serverPid(t, db)) })
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
	if pid <= 1 { // would be a whole process group
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

// The owner is killed with its server, in the middle of its writes: the next start finds
// everything that was acknowledged, except for the last second; with fsync on each write,
// everything.
func TestEmbeddedOwnerKilled(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"everysec", "always"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, acknowledged := owner(t, dir, fsync)
			want := until(300, acknowledged)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			want = max(want, until(math.MaxInt, acknowledged))
			got, err := strconv.Atoi(get(t, open(t, "embedded:"+dir).Client(), "n"))
			if err != nil || got < want {
				t.Errorf("found %d, %d was acknowledged (%v)", got, want, err)
			}
			t.Logf("fsync %s: %d acknowledged, %d found", fsync, want, got)
		})
	}
}

// Another process has the directory: this one joins it, and takes over when the other is killed.
func TestEmbeddedTakesOverFromKilledOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, acknowledged := owner(t, dir, "everysec")
	<-acknowledged
	db := open(t, "embedded:"+dir)
	set(t, db.Client(), "mine", "here")
	theirs := serverPid(t, db)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server to be taken over", func() bool { return !slices.Contains([]int{0, theirs}, serverPid(t, db)) })
	if got := get(t, db.Client(), "mine"); got != "here" {
		t.Errorf("mine = %q after the server was taken over", got)
	}
	set(t, db.Client(), "mine", "still")
}

// The owner was killed, and its server answers until it has exited: a process that opens the
// directory at that moment does not join it, and loses no command.
func TestEmbeddedDoesNotJoinDyingServer(t *testing.T) {
	t.Parallel()
	for range 3 {
		dir := t.TempDir()
		cmd, acknowledged := owner(t, dir, "everysec")
		<-acknowledged
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		c := open(t, "embedded:"+dir).Client()
		for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
			if err := c.Do(t.Context(), c.B().Incr().Key("mine").Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Two processes with different environments find each other even if the path of the directory is
// too long for its socket.
func TestEmbeddedJoinElsewhere(t *testing.T) {
	t.Parallel()
	runtime, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	cmd, acknowledged := owner(t, dir, "everysec", "XDG_RUNTIME_DIR="+runtime)
	<-acknowledged
	db := open(t, "embedded:"+dir)
	set(t, db.Client(), "mine", "here")
	theirs := serverPid(t, db)
	if sockets, err := filepath.Glob(filepath.Join(runtime, "*.sock")); err != nil || len(sockets) != 1 {
		t.Errorf("the owner's socket is not in its runtime directory: %v (%v)", sockets, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server to be taken over", func() bool { return !slices.Contains([]int{0, theirs}, serverPid(t, db)) })
	if got := get(t, db.Client(), "mine"); got != "here" {
		t.Errorf("mine = %q after the server was taken over", got)
	}
}

// A write that was truncated by a power failure does not keep the rest from being loaded.
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
		t.Fatalf("the append-only files are %v (%v)", files, err)
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
		t.Errorf("k = %q", got)
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
			t.Errorf("embedded:%s: %v", dir, err)
		}
	}
	opt := quiet
	opt.Getenv = func(string) string { return "" }
	if _, err := store.Open(t.Context(), "embedded:", opt); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("no HOME: %v", err)
	}
	opt.Getenv = func(name string) string {
		return map[string]string{"RETWIS_REDIS_SERVER": "/no/such/server", "HOME": t.TempDir()}[name]
	}
	if _, err := store.Open(t.Context(), "embedded:", opt); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "RETWIS_REDIS_SERVER") {
		t.Errorf("no server: %v", err)
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

// If root works on the directory of another user, that user owns the lock, too, so that the
// user's next server can take it. All other users are rejected.
func TestDirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if _, err := store.Open(t.Context(), "embedded:/", quiet); err == nil || !strings.Contains(err.Error(), "/ belongs to root; run the command as that user") {
			t.Error(err)
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
		t.Errorf("the lock belongs to %d", owner)
	}
}
