package backup

import (
	"archive/tar"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"retwis/internal/cli/shell"
	"retwis/internal/social/backup"
)

// writeBackup writes a file that starts like a backup created at a given time.
func writeBackup(t *testing.T, path string, created time.Time) {
	t.Helper()
	writeBackupWith(t, path, backup.Manifest{Format: backup.Format, Created: created, Parts: 1})
}

func writeBackupWith(t *testing.T, path string, m backup.Manifest) {
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
	manifest, err := json.Marshal(m)
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

// Only the oldest backups are removed, judged by their manifests rather than by file names or
// times. Nothing else in the directory is touched.
func TestRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := time.Date(2026, 11, 1, 3, 30, 0, 0, time.UTC)
	var names []string
	for day := range 5 {
		names = append(names, nameAt(start.AddDate(0, 0, day), databaseExt))
		writeBackup(t, filepath.Join(dir, names[day]), start.AddDate(0, 0, day))
	}
	// An old backup under a new name is still old, and the file's modification time does not
	// matter.
	late := nameAt(start.AddDate(1, 0, 0), databaseExt)
	writeBackup(t, filepath.Join(dir, late), start.AddDate(0, 0, -1))
	others := []string{
		"retwis-2026-11-01.backup", "retwis.backup", "retwis-20261101T033000Z.backup.old", nameAt(start.AddDate(-1, 0, 0), databaseExt),
	}
	for _, name := range others[:3] {
		writeBackup(t, filepath.Join(dir, name), start.AddDate(-2, 0, 0))
	}
	if err := os.WriteFile(filepath.Join(dir, others[3]), []byte("not a backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	subdir, link := nameAt(start.AddDate(-3, 0, 0), databaseExt), nameAt(start.AddDate(-4, 0, 0), databaseExt)
	if err := os.Mkdir(filepath.Join(dir, subdir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(others[0], filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	others = append(others, subdir, link)

	for keep, left := range map[int][]string{0: append(slices.Clone(names), late), 9: append(slices.Clone(names), late)} {
		if removed, _, err := (retention{dir: dir, pictures: dir, keep: keep}).apply(); err != nil || len(removed) > 0 {
			t.Errorf("keep %d: removed %s, %v", keep, removed, err)
		}
		checkFiles(t, dir, append(slices.Clone(others), left...))
	}
	if removed, _, err := (retention{dir: dir, pictures: dir, keep: 3}).apply(); err != nil || len(removed) != 3 {
		t.Errorf("removed %s, %v; want 3 backups", removed, err)
	}
	checkFiles(t, dir, append(slices.Clone(others), names[2:]...))
}

// The new backup is kept even if a wrong clock makes it look like the oldest.
func TestRetentionOfNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to, err := open(&shell.Command{}, dir, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	to.discard()
	writeBackup(t, to.database.name, time.Now())
	names := []string{filepath.Base(to.database.name)}
	for day := range 3 {
		late := time.Now().AddDate(0, 0, day+1)
		names = append(names, nameAt(late, databaseExt))
		writeBackup(t, filepath.Join(dir, names[day+1]), late)
	}
	if removed, _, err := to.old.apply(); err != nil || len(removed) != 2 {
		t.Errorf("removed %s, %v", removed, err)
	}
	checkFiles(t, dir, []string{names[0], names[3]})
	to.old.keep = 1
	if removed, _, err := to.old.apply(); err != nil || len(removed) != 1 {
		t.Errorf("removed %s, %v", removed, err)
	}
	checkFiles(t, dir, names[:1])
}

// A picture archive is removed once no remaining backup needs it. Not every backup has its own
// archive.
func TestRetentionOfPictures(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 3, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct{ backups, pictures, left []int }{
		"one per backup":       {[]int{1, 2, 3, 4}, []int{1, 2, 3, 4}, []int{3, 4}},
		"every other backup":   {[]int{1, 2, 3, 4, 5, 6}, []int{1, 3, 5}, []int{5}},
		"needed by the oldest": {[]int{1, 2, 3, 4, 5}, []int{1, 3, 5}, []int{3, 5}},
		"first backup only":    {[]int{1, 2, 3, 4}, []int{1}, []int{1}},
		"last backup only":     {[]int{1, 2, 3, 4}, []int{4}, []int{4}},
		"of removed backups":   {[]int{5, 6}, []int{1, 2, 5}, []int{5}},
		"no backups":           {nil, []int{1, 2}, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, other := t.TempDir(), t.TempDir()
			for _, day := range test.backups {
				writeBackup(t, filepath.Join(dir, nameAt(start.AddDate(0, 0, day), databaseExt)), start.AddDate(0, 0, day))
			}
			for _, day := range test.pictures {
				if err := os.WriteFile(filepath.Join(other, nameAt(start.AddDate(0, 0, day), picturesExt)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := (retention{dir: dir, pictures: other, keep: 2}).apply(); err != nil {
				t.Error(err)
			}
			var want []string
			for _, day := range test.left {
				want = append(want, nameAt(start.AddDate(0, 0, day), picturesExt))
			}
			checkFiles(t, other, want)
		})
	}
}

// A backup that is damaged, or that only another version of retwis can read, may need any archive.
func TestRetentionOfUnread(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]backup.Manifest{
		"newer":   {Format: backup.Format + 1, Parts: 1},
		"damaged": {Format: backup.Format, Parts: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, other := t.TempDir(), t.TempDir()
			start := time.Date(2026, 11, 1, 3, 30, 0, 0, time.UTC)
			var names, archives []string
			for day := range 4 {
				at := start.AddDate(0, 0, day)
				names = append(names, nameAt(at, databaseExt))
				archives = append(archives, nameAt(at, picturesExt))
				if err := os.WriteFile(filepath.Join(other, archives[day]), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if day > 0 {
					writeBackup(t, filepath.Join(dir, names[day]), at)
				}
			}
			m.Created = start
			writeBackupWith(t, filepath.Join(dir, names[0]), m)
			_, unread, err := (retention{dir: dir, pictures: other, keep: 2}).apply()
			if err != nil || unread == nil || !strings.Contains(unread.Error(), names[0]) {
				t.Errorf("unread = %v, %v; want an error about %s", unread, err, names[0])
			}
			checkFiles(t, dir, []string{names[0], names[2], names[3]})
			checkFiles(t, other, archives)
		})
	}
}

func checkFiles(t *testing.T, dir string, want []string) {
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
		t.Errorf("files in %s: %s\nwant %s", dir, got, want)
	}
}
