package redisserver_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"retwis/internal/redis/redisserver"
	"retwis/internal/redistest"
)

// nobody is the ID of a user other than root.
const nobody = 65534

// foreignDir returns a directory of another user: a directory of nobody if the test runs as root,
// and otherwise a directory of root.
func foreignDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/"
	}
	dir, err := os.MkdirTemp("", "retwis-owner")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkOwnedByNobody checks that every file in dir belongs to the user nobody.
func checkOwnedByNobody(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != nobody || stat.Gid != nobody {
			t.Errorf("%s belongs to %d:%d, want %d:%d", path, stat.Uid, stat.Gid, nobody, nobody)
		}
		return nil
	})
	if err != nil || seen < 2 {
		t.Errorf("found %d files, want at least 2: %v", seen, err)
	}
}

// Files that root's server writes in a directory of another user belong to that user. All other
// users get an error that names the owner.
func TestOwner(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	dir := foreignDir(t)
	opt := redisserver.Options{Dir: dir, Logger: quiet, Config: []string{"appendonly yes"}}
	if os.Geteuid() != 0 {
		if _, err := redisserver.Start(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "sudo -u 'root' retwis") {
			t.Errorf("Start in a directory of root: %v, want an error with the sudo command", err)
		}
		return
	}
	s := start(t, opt)
	do(t, s, "SET key value")
	do(t, s, "BGREWRITEAOF")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkOwnedByNobody(t, dir)
}
