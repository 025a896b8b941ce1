package backup_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/social/backup"
)

func arbitrary(t *testing.T, c rueidis.Client, words ...string) rueidis.RedisResult {
	t.Helper()
	res := c.Do(t.Context(), c.B().Arbitrary(words...).Build())
	if err := res.Error(); err != nil {
		t.Fatal(err)
	}
	return res
}

// A restore that is interrupted while deleting the keys of a Cluster leaves the database marked,
// whichever master has the remaining keys. The next restore deletes the remaining keys, even
// without Replace.
func TestCutOffWhileEmptying(t *testing.T) {
	t.Parallel()
	from, file := smallSite(t)
	servers := clusterServers(t)
	to := open(t, servers.URL())
	restore := func(replace bool) (backup.Restored, error) {
		return backup.Restore(to.Ctx, to.Source, bytes.NewReader(file), backup.RestoreOptions{Replace: replace})
	}
	for i, failing := range servers.Masters {
		for n := range 30 {
			to.Redis("SET", fmt.Sprintf("stale:%d", n), "1")
		}
		c := failing.Client(t)
		arbitrary(t, c, "ACL", "SETUSER", "default", "-flushdb")
		_, err := restore(true)
		if marked := to.Redis("EXISTS", "restoring"); err == nil || marked != "1" {
			t.Errorf("Restore with failing master %d: %v, want an error; EXISTS restoring = %s, want 1", i, err, marked)
		}
		arbitrary(t, c, "ACL", "SETUSER", "default", "+flushdb")
		restored, err := restore(false)
		if err != nil {
			t.Errorf("second Restore after master %d failed: %v", i, err)
		}
		keys := int64(0)
		for _, m := range servers.Masters {
			n, err := arbitrary(t, m.Client(t), "DBSIZE").AsInt64()
			stale, keysErr := arbitrary(t, m.Client(t), "KEYS", "stale:*").AsStrSlice()
			if err != nil || keysErr != nil || len(stale) > 0 {
				t.Errorf("old keys that were not deleted: %v; %v, %v", stale, err, keysErr)
			}
			keys += n
		}
		if got, want := to.Redis("GET", "next_post_id"), from.Redis("GET", "next_post_id"); got != want || keys > restored.Keys {
			t.Errorf("next_post_id = %s, want %s; %d keys, want at most %d", got, want, keys, restored.Keys)
		}
	}
}

// Restore with Replace works on a database that fills the memory.
func TestReplaceFull(t *testing.T) {
	t.Parallel()
	_, file := smallSite(t)
	to := single(t)
	for n := range 30 {
		to.Redis("SET", fmt.Sprintf("stale:%d", n), string(make([]byte, 1<<20)))
	}
	arbitrary(t, to.Client, "CONFIG", "SET", "maxmemory", "20mb")
	if err := to.Client.Do(to.Ctx, to.Client.B().Set().Key("more").Value("1").Build()).Error(); err == nil {
		t.Error("SET succeeded, but the memory should be full")
	}
	if _, err := backup.Restore(to.Ctx, to.Source, bytes.NewReader(file), backup.RestoreOptions{Replace: true}); err != nil {
		t.Error(err)
	}
}
