package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// Lock returns ErrRefused immediately if waiting cannot help.
func TestLockReturnsErrRefused(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	do := func(command ...string) {
		t.Helper()
		client := server.Client(t)
		require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(command...).Build()).Error())
	}
	do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "-@all", "+@read", "+@connection")
	replica := redistest.TCP(t, "replicaof 127.0.0.1 1")
	for name, test := range map[string]struct{ url, want string }{
		"no right":       {fmt.Sprintf("redis://reader:secret@127.0.0.1:%d", server.Port()), "NOPERM"},
		"wrong password": {fmt.Sprintf("redis://reader:wrong@127.0.0.1:%d", server.Port()), "WRONGPASS"},
		"a replica":      {fmt.Sprintf("redis://127.0.0.1:%d", replica.Port()), "READONLY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := redlock.Dial([]string{test.url}, generous(redlock.Options{}))
			require.OK(t)(err)
			defer m.Close()
			_, err = m.Lock(t.Context(), "job")
			if !errors.Is(err, redlock.ErrRefused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Lock: %v; want ErrRefused and %s", err, test.want)
			}
		})
	}
}
