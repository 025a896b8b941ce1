package redisserver_test

import (
	"errors"
	"testing"

	"retwis/internal/redis/redisserver"

	"retwis/internal/redistest"
)

// Nothing is repaired while a server runs, whichever process started it.
func TestRepairInUse(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	opt := filled(t)
	s := start(t, opt)
	if _, err := diagnose(t, opt.Dir); !errors.Is(err, redisserver.ErrInUse) {
		t.Errorf("a running server: %v, want ErrInUse", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err := diagnose(t, opt.Dir); err != nil || !d.Healthy() {
		t.Errorf("after its end: %+v, %v", d, err)
	}
}
