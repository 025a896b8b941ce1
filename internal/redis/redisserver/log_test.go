package redisserver

import "testing"

// ofSnapshot recognizes the warnings that a backup causes, but not the loss of a real replica.
func TestLogOfSnapshot(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"Connection with replica /unixsocket:<unknown-replica-port> lost.":    true,
		"Diskless rdb transfer, done reading from pipe, 1 replicas still up.": true,
		"Connection with replica 192.0.2.7:6379 lost.":                        false,
		"Connection with replica client id #7 lost.":                          false,
		"Diskless rdb transfer, last replica dropped, killing fork child.":    false,
		"Can't save in background: fork: Cannot allocate memory":              false,
	} {
		if got := ofSnapshot(line); got != want {
			t.Errorf("ofSnapshot(%q) = %v, want %v", line, got, want)
		}
	}
}
