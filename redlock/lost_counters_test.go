package redlock_test

import (
	"strconv"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// Three of five servers gave the last token. Two of the three have lost their counters, and the
// third does not answer: no remaining server has the last token, but the next token is still
// larger. All counters are ahead of the clock, so that the clock does not help.
func TestTokenAfterLostCounters(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 5)
	clients := clientsOf(t, servers)
	last := time.Now().Add(time.Hour).UnixMicro()
	for i, client := range clients[2:] {
		known := last
		if i > 0 {
			known -= 5
		}
		err := client.Do(t.Context(), client.B().Set().Key("redlock:token:{job}").Value(strconv.FormatInt(known, 10)).Build()).Error()
		require.OK(t)(err)
	}
	m := dial(t, servers, redlock.Options{Fencing: true})
	awaitAnswers(t, m)
	servers[2].Freeze(t)
	l := lock(t, m, "job")
	if l.Token() <= uint64(last) {
		t.Errorf("token %d after %d", l.Token(), last)
	}
	unlock(t, l)
	servers[2].Thaw(t)
}
