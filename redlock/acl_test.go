package redlock_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// The permissions listed in docs/locks.md are sufficient.
func TestDocumentedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/locks.md")
	require.OK(t)(err)
	found := regexp.MustCompile("`([^`]*&redlock:[^`]*)`").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/locks.md lists no permissions")
	}
	server := redistest.TCP(t)
	client := server.Client(t)
	rules := append([]string{"ACL", "SETUSER", "locker", "reset", "on", ">secret"}, strings.Fields(string(found[1]))...)
	require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(rules...).Build()).Error())
	url := fmt.Sprintf("redis://locker:secret@127.0.0.1:%d", server.Port())
	for _, fencing := range []bool{false, true} {
		opt := redlock.Options{Owner: "test", Fencing: fencing}
		var managers []*redlock.Manager
		for range 2 {
			m, err := redlock.Dial([]string{url}, generous(opt))
			require.OK(t)(err)
			defer m.Close()
			managers = append(managers, m)
		}
		require.OK(t)(managers[0].SkipQuarantine(t.Context()))
		require.OK(t)(managers[0].Status(t.Context(), ""))
		l := lock(t, managers[0], "job")
		extend(t, l)
		next := make(chan *redlock.Lock)
		go func() {
			l, err := managers[1].Lock(t.Context(), "job")
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		awaitWaiters(t, managers[0], "job", 1)
		require.OK(t)(managers[0].Break(t.Context(), "job"))
		unlock(t, <-next)
	}
	wait(t, "a ping on an idle connection", func() bool {
		list, err := client.Do(t.Context(), client.B().Arbitrary("CLIENT", "LIST").Build()).ToString()
		return err == nil && regexp.MustCompile(`(?m)cmd=ping .*user=locker`).MatchString(list)
	})
	log, err := client.Do(t.Context(), client.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	if err != nil || len(log) > 0 {
		t.Errorf("the server refused commands: %v (%v)", log, err)
	}
}
