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
		t.Errorf("%v is from a clock that can be set", start)
	}
	synctest.Test(t, func(t *testing.T) {
		began := Now()
		time.Sleep(time.Second)
		if passed := time.Duration(Now() - began); passed != time.Second || At(time.Now()) != Now() {
			t.Errorf("%v passed in a second", passed)
		}
		if began < int64(24*time.Hour) {
			t.Errorf("the zero time is only %v ago", time.Duration(began))
		}
	})
}
