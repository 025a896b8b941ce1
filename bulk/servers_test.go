package bulk

import (
	"io"
	"strings"
	"testing"

	"retwis/bulk/resp"
	"retwis/internal/redistest"
)

// before7 reports whether the server under test is Redis 6.2.
func before7(t *testing.T) bool {
	t.Helper()
	return strings.HasPrefix(redistest.Version(t), "6.")
}

// debugging returns the redis.conf line that allows DEBUG, if the server under test needs the line.
func debugging(t *testing.T) []string {
	t.Helper()
	if before7(t) {
		return nil
	}
	return []string{"enable-debug-command yes"}
}

// durable returns the redis.conf lines of a server that loses no acknowledged write, and allows
// DEBUG.
func durable(t *testing.T) []string {
	t.Helper()
	return append([]string{"appendonly yes", "appendfsync always"}, debugging(t)...)
}

// scanAll returns the commands of a stream, each as its arguments joined by |.
func scanAll(r io.Reader) (found []string, offsets []int64, err error) {
	s := resp.NewScanner(r)
	for s.Scan() {
		var args []string
		for i := range s.Frame().Len() {
			args = append(args, string(s.Frame().Arg(i)))
		}
		found = append(found, strings.Join(args, "|"))
		offsets = append(offsets, s.Offset())
	}
	return found, offsets, s.Err()
}
