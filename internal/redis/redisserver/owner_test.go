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

// foreignDir returns a directory of another user: of nobody if the test runs as root, otherwise
// of root.
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

// ownedByNobody checks that nobody owns every file in a directory.
func ownedByNobody(t *testing.T, dir string) {
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
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
		return nil
	})
	if err != nil || seen < 2 {
		t.Errorf("%d files: %v", seen, err)
	}
}

// What root's server writes in a directory of another user belongs to that user; all other users
// are rejected, with an error that names the owner.
func TestOwner(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	dir := foreignDir(t)
	opt := redisserver.Options{Dir: dir, Logger: quiet, Config: []string{"appendonly yes"}}
	if os.Geteuid() != 0 {
		if _, err := redisserver.Start(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "sudo -u 'root' retwis") {
			t.Errorf("a directory of root: %v", err)
		}
		return
	}
	s := start(t, opt)
	do(t, s, "SET key value")
	do(t, s, "BGREWRITEAOF")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ownedByNobody(t, dir)
}
