package elapsed

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestElapsed(t *testing.T) {
	t.Parallel()
	if !strings.Contains(start.String(), " m=") {
		t.Errorf("start = %v has no monotonic clock reading", start)
	}
	synctest.Test(t, func(t *testing.T) {
		began := Now()
		time.Sleep(time.Second)
		if got := time.Duration(Now() - began); got != time.Second || At(time.Now()) != Now() {
			t.Errorf("Now advanced by %v, want 1s", got)
		}
		if began < int64(24*time.Hour) {
			t.Errorf("the zero time is only %v ago", time.Duration(began))
		}
	})
}
