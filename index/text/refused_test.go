package text_test

import (
	"errors"
	"testing"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// Writes do not return ErrCorrupt if the server refuses writes: the caller should retry.
func TestRefusedIsNotDamaged(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string][]string{
		"READONLY":   {"REPLICAOF", "127.0.0.1", "1"},
		"OOM":        {"CONFIG", "SET", "maxmemory", "1"},
		"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Own(t).Client(t)
			posts, err := text.New(client, "posts", text.Options{})
			require.OK(t)(err)
			d := text.Document{Text: "Redis is fast"}
			require.OK(t)(posts.Put(t.Context(), 1, d))
			require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(refuse...).Build()).Error())
			if err := posts.Put(t.Context(), 2, d); err == nil || errors.Is(err, index.ErrCorrupt) {
				t.Errorf("Put: %v, want an error other than ErrCorrupt", err)
			}
			if err := posts.Remove(t.Context(), 1, d); errors.Is(err, index.ErrCorrupt) { // may succeed: Remove needs no memory
				t.Errorf("Remove: %v, want another error or none", err)
			}
		})
	}
}
