package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// The parameters of a URL can name a private certificate authority and a client certificate, which
// the servers require.
func TestTLS(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 3 {
		urls = append(urls, redistest.TLS(t).URL())
	}
	m, err := redlock.Dial(urls, redlock.Options{NodeTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.SkipQuarantine(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock(t, lock(t, m, "job"))
}

// The error for a server without TLS behind a rediss:// URL names the cause.
func TestTLSWithPlainServer(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	m, err := redlock.Dial([]string{fmt.Sprintf("rediss://127.0.0.1:%d", server.Port())}, redlock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	// The error also names TLS while the next attempt to connect is in progress.
	for range 2 {
		wait(t, "an error that names TLS and no longer waits", func() bool {
			_, err := m.TryLock(t.Context(), "job")
			return errors.Is(err, redlock.ErrNoQuorum) && strings.Contains(err.Error(), "the server may not speak TLS: then its URL is redis://")
		})
		wait(t, "an error that names TLS while it waits", func() bool {
			_, err := m.TryLock(t.Context(), "job")
			return errors.Is(err, redlock.ErrNoQuorum) && strings.Contains(err.Error(), "no answer for ") &&
				strings.Contains(err.Error(), "the server may not speak TLS")
		})
	}
}
