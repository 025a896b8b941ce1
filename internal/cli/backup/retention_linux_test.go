package backup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An unreadable backup may need any picture archive: all archives are kept, and the report names
// the backup.
func TestRetentionOfUnreadable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "retwis-backups") // only root can traverse a directory of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	start := time.Date(2026, 11, 1, 3, 30, 0, 0, time.UTC)
	var backups, archives []string
	for day := range 4 {
		backups = append(backups, nameAt(start.AddDate(0, 0, day), databaseExt))
		archives = append(archives, nameAt(start.AddDate(0, 0, day), picturesExt))
		writeBackup(t, filepath.Join(dir, backups[day]), start.AddDate(0, 0, day))
		if err := os.WriteFile(filepath.Join(dir, archives[day]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, backups[0]), 0); err != nil {
		t.Fatal(err)
	}
	actAsNobody(t, dir, backups[1:])
	removed, unread, err := retention{dir: dir, pictures: dir, keep: 2}.apply()
	if err != nil || len(removed) != 1 {
		t.Errorf("removed %s, %v; want one backup", removed, err)
	}
	if unread == nil || !strings.Contains(unread.Error(), backups[0]) || strings.Contains(unread.Error(), backups[1]) {
		t.Errorf("unread = %v, want an error about %s only", unread, backups[0])
	}
	checkFiles(t, dir, append([]string{backups[0], backups[2], backups[3]}, archives...))
}

// actAsNobody drops root's rights for the duration of a test and gives a directory and files in it
// to the user nobody.
func actAsNobody(t *testing.T, dir string, names []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	for _, path := range append([]string{"."}, names...) {
		if err := os.Chown(filepath.Join(dir, path), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	// Setfsuid changes the user of this thread only. The thread ends with the test unless it
	// becomes root again.
	runtime.LockOSThread()
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setfsuid(0); err == nil {
			runtime.UnlockOSThread()
		}
	})
}
