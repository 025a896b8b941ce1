package bulk

import (
	"strings"
	"testing"

	"retwis/internal/redistest"
)

// before7 reports whether the server to test with is Redis 6.2.
func before7(t *testing.T) bool {
	t.Helper()
	return strings.HasPrefix(redistest.Version(t), "6.")
}

// debugging is the line of redis.conf that allows DEBUG, for servers that need one.
func debugging(t *testing.T) []string {
	t.Helper()
	if before7(t) {
		return nil
	}
	return []string{"enable-debug-command yes"}
}

// durable are settings of a server that forgets nothing that it has answered.
func durable(t *testing.T) []string {
	t.Helper()
	return append([]string{"appendonly yes", "appendfsync always"}, debugging(t)...)
}
