package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"retwis/internal/files"
)

// Files that root writes to another user's directory belong to that user, so that the user's
// service can read the files. Files that any other user writes belong to the writer.
func TestOwner(t *testing.T) {
	t.Parallel()
	home, want := t.TempDir(), os.Geteuid()
	if want == 0 {
		want = 12345
		if err := os.Chown(home, want, want); err != nil {
			t.Fatal(err)
		}
	}
	place := files.Directory(filepath.Join(home, "site", "media"))
	if err := files.Probe(t.Context(), place); err != nil {
		t.Fatal(err)
	}
	if err := place.Put(t.Context(), nameOf(1), []byte("picture")); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++
		if stat := info.Sys().(*syscall.Stat_t); int(stat.Uid) != want {
			t.Errorf("%s belongs to %d, want %d", path, stat.Uid, want)
		}
		return nil
	})
	if err != nil || seen < 5 {
		t.Errorf("found %d files and directories, %v; want at least 5", seen, err)
	}
}
