package static

import "testing"

func TestEveryFileHasAKind(t *testing.T) {
	t.Parallel()
	if len(byName) == 0 {
		t.Fatal("no files")
	}
	for name, file := range byName {
		if file.kind == "" {
			t.Errorf("%s: no content type is known for it; add one to kinds", name)
		}
	}
}
