package takeout

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// The directory for unpacked files is removed at the end of an import, or by the next import if the
// process was killed. A directory that another process is using is kept.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	leftover := filepath.Join(dir, scratchPrefix+"1")
	if err := os.MkdirAll(filepath.Join(leftover, picturesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(leftover, outboxName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	used, remove, err := scratchDir()
	if err != nil {
		t.Fatal(err)
	}
	other, removeOther, err := scratchDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{leftover: false, used: true, other: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("Stat(%s): %v, want existing = %v", name, err, want)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if err := removeOther(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("TMPDIR has %v, %v; want no entries", entries, err)
	}

	// The unpacked outbox has no name in TMPDIR while it is used.
	file, err := os.Create(filepath.Join(t.TempDir(), "archive.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	w, err := z.Create(outboxName)
	if err == nil {
		_, err = w.Write([]byte(`{"orderedItems":[]}`))
	}
	if err != nil || z.Close() != nil || file.Close() != nil {
		t.Fatal("the archive could not be written")
	}
	a, err := Open(t.Context(), file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("TMPDIR has %v, %v; want no entries", entries, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
