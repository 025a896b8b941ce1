package app_test

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redis/scan"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/notify"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

var writeKeys = flag.Bool("write-keys", false, "write testdata/single_server.txt instead of comparing with it")

// On a single server, the names, types and contents of all keys are those that Retwis wrote before
// it supported Clusters.
func TestKeysOfASingleServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.useEverything()
	b.Eventually("the background tasks to end", func() bool {
		if b.Redis("EXISTS", "tasks") == "0" {
			return true
		}
		b.Clock.Advance(time.Minute)
		b.must(b.RetryTasks(b.Ctx))
		return false
	})
	got := b.dump()
	file := filepath.Join("testdata", "single_server.txt")
	if *writeKeys {
		b.must(os.MkdirAll("testdata", 0o755))
		b.must(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	b.must(err)
	if got == string(want) {
		return
	}
	before, now := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range before {
		if !slices.Contains(now, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(before, line) {
			t.Errorf("new: %s", line)
		}
	}
}

// useEverything performs every action of users and operators once.
func (b *bundle) useEverything() {
	ada, bob, eve, zoe := b.NewUser("Ada"), b.NewUser("bob"), b.NewUser("eve"), b.NewUser("Zoe")
	for _, people := range [][2]social.User{{ada, bob}, {bob, ada}, {eve, ada}, {zoe, ada}, {ada, zoe}, {eve, bob}} {
		b.Connect(people[0], people[1])
	}
	b.must(b.Follows.Unfollow(b.Ctx, eve, bob))
	b.must(b.Tags.FollowTag(b.Ctx, eve, "lakes"))
	b.must(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada L.", Bio: "engines", Links: []string{"https://example.com"}}))
	first := b.Publish(ada, "the first #Lakes for @bob")
	reply, err := b.Posts.Reply(b.Ctx, bob, first, "an answer")
	b.must(err)
	_, err = b.Posts.Reply(b.Ctx, ada, reply.ID, "and another")
	b.must(err)
	b.must(b.Posts.Delete(b.Ctx, bob, reply.ID))
	err = b.Posts.Edit(b.Ctx, ada, first, "the first #rivers for @bob")
	b.must(err)
	b.must(b.Profiles.Pin(b.Ctx, ada, first))
	b.must(b.Reactions.Like(b.Ctx, bob, first))
	b.must(b.Reactions.Bookmark(b.Ctx, bob, first))
	_, err = b.Posts.Repost(b.Ctx, bob, first)
	b.must(err)
	b.must(b.Posts.Delete(b.Ctx, ada, b.Publish(ada, "regretted")))
	b.must(b.Relations.Mute(b.Ctx, ada, eve, time.Time{}))
	b.must(b.Relations.Block(b.Ctx, bob, eve, time.Time{}))
	b.must(b.Notifications.SetNotifyOff(b.Ctx, bob, []notify.Kind{notify.Like}))
	b.must(b.Limits.Take(b.Ctx, limits.Post, limits.By{Account: ada.ID}))
	b.must(b.Auth.LoggedIn(b.Ctx, ada, "ada", netip.MustParseAddr("203.0.113.7")))

	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, ada.ID, social.Moderator, "trusted"))
	spam := b.Publish(eve, "buy this")
	b.must(b.Reports.ReportPost(b.Ctx, ada, spam, moderation.Reason{Kind: moderation.ReportKinds[0].Name, Text: "see"}))
	b.must(b.Reports.ReportUser(b.Ctx, ada, zoe.ID, moderation.Reason{Kind: moderation.ReportKinds[0].Name}))
	b.must(b.Reports.DecideReport(b.Ctx, social.Operator, fmt.Sprintf("post:%d", spam), moderation.ReportDecision{Action: "hide", Message: "no"}))
	b.must(b.Moderation.SetStanding(b.Ctx, ada.Actor(), eve.ID, moderation.StandingChange{Standing: social.Limited, Until: b.Clock.Now().Add(time.Hour)}))

	_, _, err = b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 2, For: time.Hour, Note: "friends"})
	b.must(err)
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	_, err = b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "later", Password: socialtest.Password, Reason: "lakes"})
	if !errors.Is(err, social.ErrPending) {
		b.T.Fatal(err)
	}
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpOpen))
	guest, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "guest", Password: socialtest.Password})
	b.must(err)
	session, err := b.Auth.Login(auth.WithDevice(b.Ctx, "Firefox on Linux"), "guest", socialtest.Password)
	b.must(err)
	b.must(b.Sessions.Logout(b.Ctx, guest.User.ID, guest.Secret))
	b.must(b.Sessions.LogoutOthers(b.Ctx, guest.User.ID, session.Secret))
	_, err = b.Auth.ChangePassword(b.Ctx, guest.User, socialtest.Password, "another horse")
	b.must(err)
	b.secondFactor(bob)
	if _, err = b.Auth.Login(b.Ctx, "bob", socialtest.Password); err == nil {
		b.T.Fatal("log-in without a code succeeded")
	}
	b.must(b.Sessions.LogoutEverywhere(b.Ctx, ada.ID))
	b.must(b.Leaving.DeleteAccount(b.Ctx, zoe.ID))
	b.Clock.Advance(time.Minute)
	b.must(b.Leaving.FinishRemoval(b.Ctx, zoe.ID))
}

// secondFactor turns on the second factor of a user.
func (b *bundle) secondFactor(user social.User) {
	key, err := b.Auth.SetUpSecondFactor(b.Ctx, user, socialtest.Password)
	b.must(err)
	_, err = b.Auth.ConfirmSecondFactor(b.Ctx, user.ID, b.code(key))
	b.must(err)
}

// random lists the texts that differ between runs, and their replacements: hashes, digests,
// secrets, and stream IDs with the server's time.
var random = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\$argon2id\$\S+`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`\b[A-Z2-7]{32}\b`), "KEY"},
	{regexp.MustCompile(`\b1[789]\d{11}-\d+`), "STREAM-ID"},
	{regexp.MustCompile(`\b\d{15,}\b`), "MICROSECONDS"},
	{regexp.MustCompile(`^=1[789]\d{11} \d+$`), "=CLOCK"}, // entry of a ring
}

// stable replaces texts that differ between runs.
func stable(text string) string {
	for _, r := range random {
		text = r.pattern.ReplaceAllString(text, r.text)
	}
	return text
}

// dump returns every key with its type and content, one per line.
func (b *bundle) dump() string {
	var lines []string
	for page, err := range scan.Keys(b.Ctx, b.DB, scan.Pattern{Count: 1000}) {
		b.must(err)
		for _, key := range page.Keys {
			// Rate limits disappear once they are replenished. The search index has a check that
			// compares its words with the posts. Wake keys stay until a process runs jobs.
			if strings.HasPrefix(key, "ratelimit:") || strings.HasPrefix(key, storage.WakePrefix) || strings.HasPrefix(key, "{search") && !strings.HasSuffix(key, ".meta") {
				continue
			}
			line := key + " " + b.Redis("TYPE", key)
			if b.Redis("PTTL", key) != "-1" {
				line += " expires"
			}
			// Completion indexes get their ranks later.
			if !strings.HasPrefix(key, "{names}") && !strings.HasPrefix(key, "{tags}") {
				line += " " + b.content(key)
			}
			lines = append(lines, stable(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// content returns the value of a key in an order that does not depend on the server.
func (b *bundle) content(key string) string {
	switch b.Redis("TYPE", key) {
	case "string":
		return b.Redis("GET", key)
	case "hash":
		fields, err := b.DB.Do(b.Ctx, b.DB.B().Hgetall().Key(key).Build()).AsStrMap()
		b.must(err)
		var all []string
		for field, value := range fields {
			all = append(all, stable(field+"="+value))
		}
		slices.Sort(all)
		return strings.Join(all, " | ")
	case "list":
		return b.Redis("LRANGE", key, "0", "-1")
	case "set":
		members := strings.Fields(b.Redis("SMEMBERS", key))
		slices.Sort(members)
		return strings.Join(members, " ")
	case "zset":
		scores, err := b.DB.Do(b.Ctx, b.DB.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsZScores()
		b.must(err)
		var all []string
		for _, s := range scores {
			all = append(all, fmt.Sprintf("%s=%.0f", s.Member, s.Score))
		}
		return strings.Join(all, " ")
	}
	entries, err := b.DB.Do(b.Ctx, b.DB.B().Xrange().Key(key).Start("-").End("+").Build()).AsXRange()
	b.must(err)
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprint(e.ID, e.FieldValues))
	}
	return strings.Join(all, " | ")
}
