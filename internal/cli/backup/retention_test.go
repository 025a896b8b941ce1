package backup

import (
	"archive/tar"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"retwis/internal/social/backup"
)

// backupOf writes a file that begins like a backup.
func backupOf(t *testing.T, path string, created time.Time) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal(backup.Manifest{Format: backup.Format, Created: created, Parts: 1})
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for name, text := range map[string][]byte{"manifest.json": manifest} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.WriteHeader(&tar.Header{Name: "SHA256SUMS", Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// Only the oldest backups go: by what they say about themselves, not by their names or the
// times of the files. Nothing else in the directory is touched.
func TestRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := time.Date(2026, 11, 1, 3, 30, 0, 0, time.UTC)
	var names []string
	for day := range 5 {
		names = append(names, nameAt(start.AddDate(0, 0, day)))
		backupOf(t, filepath.Join(dir, names[day]), start.AddDate(0, 0, day))
	}
	// An old backup under a new name is old, and the time of the file means nothing.
	late := nameAt(start.AddDate(1, 0, 0))
	backupOf(t, filepath.Join(dir, late), start.AddDate(0, 0, -1))
	others := []string{
		"retwis-2026-11-01.backup", "retwis.backup", "retwis-20261101T033000Z.backup.old", nameAt(start.AddDate(-1, 0, 0)),
	}
	for _, name := range others[:3] {
		backupOf(t, filepath.Join(dir, name), start.AddDate(-2, 0, 0))
	}
	if err := os.WriteFile(filepath.Join(dir, others[3]), []byte("not a backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	below, link := nameAt(start.AddDate(-3, 0, 0)), nameAt(start.AddDate(-4, 0, 0))
	if err := os.Mkdir(filepath.Join(dir, below), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(others[0], filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	others = append(others, below, link)

	for keep, stay := range map[int][]string{0: append(slices.Clone(names), late), 9: append(slices.Clone(names), late)} {
		if removed, err := (retention{dir, keep}).apply(); err != nil || len(removed) > 0 {
			t.Errorf("keep %d: removed %s, %v", keep, removed, err)
		}
		same(t, dir, append(slices.Clone(others), stay...))
	}
	if removed, err := (retention{dir, 3}).apply(); err != nil || len(removed) != 3 {
		t.Errorf("removed %s, %v", removed, err)
	}
	same(t, dir, append(slices.Clone(others), names[2:]...))
}

func same(t *testing.T, dir string, want []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
