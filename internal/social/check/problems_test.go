package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// digest is the SHA-256 of a session's secret.
var digest = strings.Repeat("ab", 32)

// planted describes damage to the database of bundle.conversation.
type planted struct {
	want   string   // part of the expected report
	repair string   // part of the expected repair
	redis  []string // command that does the damage
	more   []string // second command; may be nil
}

// Check finds and describes each problem that no other test covers, and Repair repairs the problem.
func TestCheckFindsEach(t *testing.T) {
	t.Parallel()
	for _, p := range []planted{
		{want: "user:9: unreachable: the username \"Ada\" does not lead to this user", repair: "remove the user, who has no data", redis: []string{"HSET", "user:9", "username", "Ada"}},
		{want: "sessions:{user:99}: user 99 does not exist", repair: "remove it", redis: []string{"HSET", "sessions:{user:99}", digest, "x"}},
		{want: "logins:{user:99}: user 99 does not exist", repair: "remove it", redis: []string{"HSET", "logins:{user:99}", digest, "x"}},
		{want: "import:{user:99}: user 99 does not exist", repair: "remove it", redis: []string{"HSET", "import:{user:99}", "state", "done"}},
		{want: "import_entries:{user:99}: user 99 does not exist", repair: "remove it", redis: []string{"RPUSH", "import_entries:{user:99}", "-x"}},
		{want: "sessions:{user:2}: has an entry for session abababab", repair: "remove it", redis: []string{"HSET", "sessions:{user:2}", digest, "x"}},
		{want: "login_places:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "login_places:99", "5", "::1"}},
		{want: "notifications:99: user 99 does not exist", repair: "remove it", redis: []string{"RPUSH", "notifications:99", "x"}},
		{want: "following_tags:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "following_tags:99", "5", "tea"}},
		{want: "muted:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "muted:99", "inf", "1"}},
		{want: "dismissed:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "dismissed:99", "5", "1"}},
		{want: `dismissed:3: user "99" does not exist`, repair: "remove it", redis: []string{"ZADD", "dismissed:3", "5", "99"}},
		{want: "dismissed:3: contains its owner", repair: "remove it", redis: []string{"ZADD", "dismissed:3", "5", "3"}},
		{want: "active: user 99 does not exist", repair: "remove the entry", redis: []string{"ZADD", "active", "5", "99"}},
		{want: "blocked:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "blocked:99", "inf", "1"}},
		{want: "blockers:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "blockers:99", "inf", "1"}},
		{want: "reposted:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "reposted:99", "5", "1"}},
		{want: "bookmarks:99: user 99 does not exist", repair: "remove it", redis: []string{"ZADD", "bookmarks:99", "5", "1"}},
		{want: "posts:99: user 99 does not exist", repair: "remove it", redis: []string{"RPUSH", "posts:99", "1"}},
		{want: "following:99: ", redis: []string{"ZADD", "following:99", "5", "1"}},
		{want: "followers:99: ", redis: []string{"ZADD", "followers:99", "5", "1"}},
		{want: "following:1: user:99 does not exist", redis: []string{"ZADD", "following:1", "5", "99"}},
		{want: "followers:1: the user follows themselves", redis: []string{"ZADD", "followers:1", "5", "1"}},
		{want: `followers:1: "x" is not a user id`, repair: "", redis: []string{"ZADD", "followers:1", "5", "x"}},
		{want: "copy the entry from following:2 to followers:1", redis: []string{"ZADD", "followers:1", "7", "2"}},
		{want: "following:2: user 1 since ", redis: []string{"ZADD", "followers:1", "7", "2"}},
		{want: `muted:3: "x" is not a user id`, repair: "remove it", redis: []string{"ZADD", "muted:3", "inf", "x"}},
		{want: "muted:3: contains its owner", repair: "remove it", redis: []string{"ZADD", "muted:3", "inf", "3"}},
		{want: `blockers:4: user "99" does not exist`, repair: "remove it", redis: []string{"ZADD", "blockers:4", "inf", "99"}},
		{want: "blockers:4: contains its owner", repair: "remove it", redis: []string{"ZADD", "blockers:4", "inf", "4"}},
		{want: `user 3 has blocked user 4: "inf" in blocked:3, "9999999999" here`, repair: "copy the entry from blocked:3", redis: []string{"ZADD", "blockers:4", "9999999999", "3"}},
		{want: `liked:2: "x" is not a post id`, repair: "remove it", redis: []string{"ZADD", "liked:2", "5", "x"}},
		{want: `liked:2: user 2 likes post 1: `, repair: "copy the entry from likers:{post:1}", redis: []string{"ZADD", "liked:2", "5", "1"}},
		{want: `liked:2: user 2 likes post 99: "" in likers:{post:99}, "5" here`, repair: "copy the entry from likers:{post:99}", redis: []string{"ZADD", "liked:2", "5", "99"}},
		{want: `reposted:2: user 2 has reposted post 1: "" in reposters:{post:1}, "5" here`, repair: "copy the entry from reposters:{post:1}", redis: []string{"ZADD", "reposted:2", "5", "1"}},
		{want: `reposters:{post:1}: user "99" does not exist`, repair: "remove it", redis: []string{"ZADD", "reposters:{post:1}", "5", "99"}},
		{want: `likers:{post:1}: "x" is not a user id`, repair: "remove it", redis: []string{"ZADD", "likers:{post:1}", "5", "x"}},
		{want: `tag_followers:tea: "x" is not a user id`, repair: "remove it", redis: []string{"ZADD", "tag_followers:tea", "5", "x"}},
		{want: `following_tags:2`, repair: "copy the entry from following_tags:2", redis: []string{"ZADD", "following_tags:2", "7", "tea"}},
		{want: "edits:{post:99}: post 99 does not exist", repair: "remove it", redis: []string{"RPUSH", "edits:{post:99}", "5 x"}},
		{want: "replies:{post:99}: post 99 does not exist", repair: "remove it", redis: []string{"SADD", "replies:{post:99}", "1"}},
		{want: "stubs:{post:99}: post 99 does not exist", repair: "remove it", redis: []string{"SADD", "stubs:{post:99}", "1"}},
		{want: "reposters:{post:99}: post 99 does not exist", repair: "remove it", redis: []string{"ZADD", "reposters:{post:99}", "4", "1"}},
		{want: `replies:{post:1}: "x" is not a reply to this post`, repair: "remove it", redis: []string{"SADD", "replies:{post:1}", "x"}},
		{want: `profile:1: "x" is not a post id`, repair: "remove it", redis: []string{"ZADD", "profile:1", "1", "x"}},
		{want: "profile:99: post 1 does not belong here", repair: "remove it", redis: []string{"ZADD", "profile:99", "1", "1"}},
		{want: "thread:99: post 1 does not belong here", repair: "remove it", redis: []string{"ZADD", "thread:99", "1", "1"}},
		{want: "thread:1: post 99 does not exist", repair: "remove it", redis: []string{"ZADD", "thread:1", "99", "99"}},
		{want: "thread:1: post 2 has the score 9", repair: "set the score", redis: []string{"ZADD", "thread:1", "9", "2"}},
		{want: `tag:tea: "x" is not a post id`, repair: "remove it", redis: []string{"ZADD", "tag:tea", "1", "x"}},
		{want: "post:4: repeats post 1, which is a repost", repair: "delete the repost", redis: []string{"HSET", "post:1", "repost_of", "2"}, more: []string{"DEL", "reposters:{post:2}"}},
		{want: "celebrities: has user 1, but posts are merged only on a Cluster", repair: "remove the entry", redis: []string{"ZADD", "celebrities", "1", "1"}},
		{want: "next_user_id: 1 is below user:4", repair: "set it to 4", redis: []string{"SET", "next_user_id", "1"}},
		{want: "user:1: has the role \"owner\", but staff has \"\"", repair: "copy the role from staff", redis: []string{"HSET", "user:1", "role", "owner"}},
		{want: "staff: user 99 does not exist", repair: "remove the role", redis: []string{"HSET", "staff", "99", "owner"}},
		{want: "standings: user 99 does not exist", repair: "remove the entry", redis: []string{"ZADD", "standings", "2", "99"}},
		{want: "standing_ends: user 99 does not exist", repair: "remove the entry", redis: []string{"ZADD", "standing_ends", "7", "99"}},
		{want: "user:1: standing does not agree with standings", repair: "record the standing of the user", redis: []string{"ZADD", "standings", "2", "1"}},
		{want: "user:1: is limited, which standings does not record", repair: "record the standing of the user", redis: []string{"HSET", "user:1", "standing", "limited"}},
		{want: `trend_tags: "hidden 5" is not a decision about the tag "go"`, repair: "remove it", redis: []string{"HSET", "trend_tags", "go", "hidden 5"}},
		{want: `trend_tags: "pinned 5" is not a decision about the tag "#Go"`, repair: "remove it", redis: []string{"HSET", "trend_tags", "#Go", "pinned 5"}},
		{want: `blocklist: "5" is not a valid block of "word a"`, repair: "remove it", redis: []string{"HSET", "blocklist", "word a", "5"}},
		{want: `blocklist: "5 0" is not a valid block of "color red"`, repair: "remove it", redis: []string{"HSET", "blocklist", "color red", "5 0"}},
		{want: `site: "nowhere" is not a valid contact of a site`, repair: "remove it", redis: []string{"HSET", "site", "contact", "nowhere"}},
		{want: "trend:{#go}:5: does not expire", repair: "let it expire in two days", redis: []string{"PFADD", "trend:{#go}:5", "1"}},
		{want: "trend_hour:tags:5: does not expire", repair: "let it expire in two days", redis: []string{"ZADD", "trend_hour:tags:5", "1", "go"}},
		{want: "trend_hour:tags:5: a string, but Retwis expects a zset", redis: []string{"SET", "trend_hour:tags:5", "x"}},
		{want: "users:7: a string, but Retwis expects a hash", redis: []string{"SET", "users:7", "x"}},
		{want: "decisions:1: a string, but Retwis expects a stream", redis: []string{"SET", "decisions:1", "x"}},
	} {
		t.Run(p.want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.conversation()
			b.Redis(p.redis...)
			if p.more != nil {
				b.Redis(p.more...)
			}
			b.wantFound(p.want, p.repair)
		})
	}
}

// wantFound checks that Check reports a line that contains want and repair, and that Repair repairs
// all problems.
func (b *bundle) wantFound(want, repair string) {
	b.T.Helper()
	var found []string
	result, err := b.Check(check.Options{Report: func(p check.Problem) { found = append(found, p.String()) }})
	if err != nil {
		b.T.Fatal(err)
	}
	isFound := false
	for _, line := range found {
		isFound = isFound || strings.Contains(line, want) && strings.Contains(line, repair)
	}
	if !isFound || result.Repaired != 0 || result.Remaining != result.Problems {
		b.T.Errorf("found %q, want %q with the repair %q; check = %+v", found, want, repair, result)
	}
	if repaired := b.repair(); repaired.Repaired == 0 || repaired.Remaining != 0 {
		b.T.Errorf("repair = %+v", repaired)
	}
	b.Eventually("the tasks to end", func() bool { return b.isIdle() })
	b.wantConsistent(want)
}

// On a Cluster, names are in buckets and posts of celebrities are merged. Entries that are stored
// on two servers are repaired as on a single server.
func TestCheckFindsOnACluster(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.Cluster(t, 3).Client(t))
	b.conversation()
	b.wantConsistent("new")
	for _, p := range []planted{
		{want: `"ada" belongs in users:`, repair: "remove it there", redis: []string{"HSET", "users:7", "ada", "1"}},
		{want: "celebrities: user 99 does not exist", repair: "remove the entry", redis: []string{"ZADD", "celebrities", "1", "99"}},
		{want: `celebrities: user 1 has the score "-5", which is not a post id`, repair: "merge all posts", redis: []string{"ZADD", "celebrities", "-5", "1"}},
		{want: "copy the entry from following:2 to followers:1", redis: []string{"ZREM", "followers:1", "2"}},
		{want: `user 3 has blocked user 4: "inf" in blocked:3, "" here`, redis: []string{"ZREM", "blockers:4", "3"}},
		{want: `liked:2: user 2 likes post 1: `, redis: []string{"ZREM", "liked:2", "1"}},
		{want: `reposted:3: user 3 has reposted post 1: "4" in reposters:{post:1}, "" here`, redis: []string{"ZREM", "reposted:3", "1"}},
		{want: `user 2 follows #tea: "5" in following_tags:2, "" here`, redis: []string{"ZREM", "tag_followers:tea", "2"}},
		{want: "conversation of post 1, which does not exist", redis: []string{"DEL", "post:1"}},
	} {
		b.Redis(p.redis...)
		b.wantFound(p.want, p.repair)
		b.Redis("DEL", "celebrities")
	}
}

// Check finds expired sessions, and Repair ends the sessions.
func TestCheckFindsExpiredSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	if _, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password); err != nil {
		t.Fatal(err)
	}
	b.Clock.Advance(400 * 24 * time.Hour)
	b.wantFound("2 sessions have expired, but are still recorded", "end them")
	if got := b.Redis("HGET", storage.UserKey(ada.ID), "auth"); got != "" {
		t.Errorf("field auth = %q, want none", got)
	}
}

// A single repair corrects damage that depends on other damage, such as all entries of other users
// that refer to a lost user.
func TestRepairOfALostUser(t *testing.T) {
	t.Parallel()
	for uid := range 4 {
		t.Run(fmt.Sprint(uid+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.conversation()
			b.Redis("DEL", storage.UserKey(int64(uid+1)))
			if repaired := b.repair(); repaired.Repaired == 0 || repaired.Remaining != 0 {
				t.Errorf("repair = %+v", repaired)
			}
			b.Eventually("the tasks to end", func() bool { return b.isIdle() })
			b.wantConsistent("without a user")
		})
	}
}
