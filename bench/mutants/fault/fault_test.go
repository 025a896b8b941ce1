package fault

import "testing"

// The place of each fault is in the source, and its promise in the documentation. Command
// mutants, which takes many minutes, shows that tests find them.
func TestFaultsFit(t *testing.T) {
	t.Parallel()
	if err := Check("../../..", All); err != nil {
		t.Error(err)
	}
}
