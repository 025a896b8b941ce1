package takeout

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// Files unpacked by an import are removed with it, or by the next import if the process was killed.
// Files that another process is using stay.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	left := filepath.Join(dir, scratchPrefix+"1")
	if err := os.MkdirAll(filepath.Join(left, picturesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, outboxName), []byte("{}"), 0o600); err != nil {
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
	for name, want := range map[string]bool{left: false, used: true, other: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if err := removeOther(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}

	// The copy of the outbox has no name while it is used.
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
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
