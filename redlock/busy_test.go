package redlock_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// A client that connects waits for a server that is busy with a script. The refusal to enable
// client tracking then does not mean that the server is too old.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "lua-time-limit 50")
	client, admin, other := server.Client(t), server.Client(t), server.Client(t)
	m, err := redlock.New([]rueidis.Client{client}, generous(redlock.Options{}))
	require.OK(t)(err)
	defer m.Close()
	require.OK(t)(m.SkipQuarantine(t.Context()))
	run(t, other, "PING")
	id, err := run(t, client, "CLIENT", "ID").AsInt64()
	require.OK(t)(err)
	run(t, admin, "CLIENT", "KILL", "ID", strconv.FormatInt(id, 10))
	ended := make(chan error)
	go func() {
		ended <- admin.Do(t.Context(), admin.B().Eval().Script("while true do end").Numkeys(0).Build()).Error()
	}()
	wait(t, "the server to be busy", func() bool {
		err := other.Do(t.Context(), other.B().Get().Key("job").Build()).Error()
		return err != nil && strings.Contains(err.Error(), "BUSY")
	})
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("TryLock: %v; want ErrNoQuorum", err)
	}
	got := make(chan *redlock.Lock)
	go func() { got <- lock(t, m, "job") }()
	run(t, other, "SCRIPT", "KILL")
	<-ended
	unlock(t, <-got)
}
