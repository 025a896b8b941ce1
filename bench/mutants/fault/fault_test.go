package fault

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestFaultsFit checks that the source has the anchor of each fault, and the documentation the
// promise. Command mutants, which takes many minutes, checks that tests detect the faults.
func TestFaultsFit(t *testing.T) {
	t.Parallel()
	if err := Check("../../..", All); err != nil {
		t.Error(err)
	}
}

func TestFaultsCompile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := Overlay(root, t.TempDir(), All)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-overlay", overlay}
	for i := range All {
		if !slices.Contains(args, All[i].Package()) {
			args = append(args, All[i].Package())
		}
	}
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
