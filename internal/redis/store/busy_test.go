package store_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

// run sends a command and returns its error.
func run(t *testing.T, c rueidis.Client, words ...string) error {
	t.Helper()
	return c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error()
}

// Open waits for a server that is busy with a script. The error of Open reports the busy server,
// not a server without client-side caching.
func TestOpenBusyServer(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t, "lua-time-limit 1")
	c, other := s.Client(t), s.Client(t)
	go other.Do(context.Background(), other.B().Eval().Script("while true do end").Numkeys(0).Build())
	for { // until the script has started
		if err := run(t, c, "PING"); err != nil && strings.HasPrefix(err.Error(), "BUSY") {
			break
		}
	}
	_, err := store.Open(t.Context(), s.URL(), quiet)
	if rediserr.Of(err) != rediserr.Unavailable || !strings.Contains(err.Error(), "BUSY ") || strings.Contains(err.Error(), "cach") {
		t.Errorf("Open: %v (class %q), want BUSY", err, rediserr.Of(err))
	}
	var connections atomic.Int32
	retried := make(chan struct{})
	opt := quiet
	opt.Connected = func() {
		if connections.Add(1) == 5 {
			close(retried)
		}
	}
	go func() {
		<-retried
		if err := run(t, c, "SCRIPT", "KILL"); err != nil {
			t.Error(err)
		}
	}()
	db, err := store.Open(t.Context(), s.URL(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
