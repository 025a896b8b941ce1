package redlock_test

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// Servers whose certificates a private authority signed, and which require
// one, are reached with the parameters of their URLs.
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
