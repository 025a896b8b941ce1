package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// Listen returns if the server refuses PING, as a replica does that has lost its master.
func TestListenEndsOnRefusedPing(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t, "replica-serve-stale-data no").Client(t)
	s := NewRedis(client, "own")
	Prepare([]*Redis{s}, "manager", NewRecords(1, time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Listen(ctx, "channel", func() {
		if err := client.Do(ctx, client.B().Arbitrary("REPLICAOF", "127.0.0.1", "1").Build()).Error(); err != nil {
			t.Error(err)
		}
		cancel()
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Listen: %v; want Canceled", err)
	}
}
