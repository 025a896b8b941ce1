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

// On a single server the keys are exactly those that Retwis wrote before it had a layout for a
// Cluster: their names, types and contents.
func TestKeysOfASingleServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.useEverything()
	b.Eventually("the end of the work in the background", func() bool {
		if b.Redis("EXISTS", "tasks") == "0" {
			return true
		}
		b.Clock.Advance(time.Minute)
		b.do(b.RetryTasks(b.Ctx))
		return false
	})
	got := b.dump()
	file := filepath.Join("testdata", "single_server.txt")
	if *writeKeys {
		b.do(os.MkdirAll("testdata", 0o755))
		b.do(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	b.do(err)
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

// useEverything does everything that people and operators can do, once.
func (b *bundle) useEverything() {
	ada, bob, eve, zoe := b.NewUser("Ada"), b.NewUser("bob"), b.NewUser("eve"), b.NewUser("Zoe")
	for _, people := range [][2]social.User{{ada, bob}, {bob, ada}, {eve, ada}, {zoe, ada}, {ada, zoe}, {eve, bob}} {
		b.Connect(people[0], people[1])
	}
	b.do(b.Follows.Unfollow(b.Ctx, eve, bob))
	b.do(b.Tags.FollowTag(b.Ctx, eve, "lakes"))
	b.do(b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Ada L.", Bio: "engines", Links: []string{"https://example.com"}}))
	first := b.Publish(ada, "the first #Lakes for @bob")
	reply, err := b.Posts.Reply(b.Ctx, bob, first, "an answer")
	b.do(err)
	_, err = b.Posts.Reply(b.Ctx, ada, reply.ID, "and another")
	b.do(err)
	b.do(b.Posts.Delete(b.Ctx, bob, reply.ID))
	err = b.Posts.Edit(b.Ctx, ada, first, "the first #rivers for @bob")
	b.do(err)
	b.do(b.Profiles.Pin(b.Ctx, ada, first))
	b.do(b.Reactions.Like(b.Ctx, bob, first))
	b.do(b.Reactions.Bookmark(b.Ctx, bob, first))
	_, err = b.Posts.Repost(b.Ctx, bob, first)
	b.do(err)
	b.do(b.Posts.Delete(b.Ctx, ada, b.Publish(ada, "regretted")))
	b.do(b.Relations.Mute(b.Ctx, ada, eve, time.Time{}))
	b.do(b.Relations.Block(b.Ctx, bob, eve, time.Time{}))
	b.do(b.Notifications.SetNotifyOff(b.Ctx, bob, []notify.Kind{notify.Like}))
	b.do(b.Limits.Take(b.Ctx, limits.Post, limits.By{Account: ada.ID}))
	b.do(b.Auth.LoggedIn(b.Ctx, ada, "ada", netip.MustParseAddr("203.0.113.7")))

	b.do(b.Moderation.SetRole(b.Ctx, social.Operator, ada.ID, social.Moderator, "trusted"))
	spam := b.Publish(eve, "buy this")
	b.do(b.Reports.ReportPost(b.Ctx, ada, spam, moderation.Reason{Kind: moderation.ReportKinds[0].Name, Text: "see"}))
	b.do(b.Reports.ReportUser(b.Ctx, ada, zoe.ID, moderation.Reason{Kind: moderation.ReportKinds[0].Name}))
	b.do(b.Reports.DecideReport(b.Ctx, social.Operator, fmt.Sprintf("post:%d", spam), moderation.ReportDecision{Action: "hide", Message: "no"}))
	b.do(b.Moderation.SetStanding(b.Ctx, ada.Actor(), eve.ID, moderation.StandingChange{Standing: social.Limited, Until: b.Clock.Now().Add(time.Hour)}))

	_, invite, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 2, For: time.Hour, Note: "friends"})
	b.do(err)
	_ = invite
	b.do(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	_, err = b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "later", Password: socialtest.Password, Reason: "lakes"})
	if !errors.Is(err, social.ErrPending) {
		b.T.Fatal(err)
	}
	b.do(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpOpen))
	guest, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "guest", Password: socialtest.Password})
	b.do(err)
	session, err := b.Auth.Login(auth.WithDevice(b.Ctx, "Firefox on Linux"), "guest", socialtest.Password)
	b.do(err)
	b.do(b.Sessions.Logout(b.Ctx, guest.User.ID, guest.Secret))
	b.do(b.Sessions.LogoutOthers(b.Ctx, guest.User.ID, session.Secret))
	_, err = b.Auth.ChangePassword(b.Ctx, guest.User, socialtest.Password, "another horse")
	b.do(err)
	b.secondFactor(bob)
	if _, err = b.Auth.Login(b.Ctx, "bob", socialtest.Password); err == nil {
		b.T.Fatal("no code was asked for")
	}
	b.do(b.Sessions.LogoutEverywhere(b.Ctx, ada.ID))
	b.do(b.Leaving.DeleteAccount(b.Ctx, zoe.ID))
	b.Clock.Advance(time.Minute)
	b.do(b.Leaving.FinishRemoval(b.Ctx, zoe.ID))
}

// secondFactor turns on the second factor of a user.
func (b *bundle) secondFactor(user social.User) {
	key, err := b.Auth.SetUpSecondFactor(b.Ctx, user, socialtest.Password)
	b.do(err)
	_, err = b.Auth.ConfirmSecondFactor(b.Ctx, user.ID, b.code(key))
	b.do(err)
}

// random matches texts that differ between runs: hashes, digests, secrets, and stream IDs with the
// server's time.
var random = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\$argon2id\$\S+`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`\b[A-Z2-7]{32}\b`), "KEY"},
	{regexp.MustCompile(`\b1[789]\d{11}-\d+`), "STREAM-ID"},
	{regexp.MustCompile(`\b\d{15,}\b`), "MICROSECONDS"},
	{regexp.MustCompile(`^=1[789]\d{11} \d+$`), "=CLOCK"}, // in a ring
}

// stable replaces what differs between runs.
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
		b.do(err)
		for _, key := range page.Keys {
			// Limits disappear once they are fully replenished. The words of a search index are
			// compared with the posts by its own check. Keys that wake processes stay if no process
			// works.
			if strings.HasPrefix(key, "ratelimit:") || strings.HasPrefix(key, storage.WakePrefix) || strings.HasPrefix(key, "{search") && !strings.HasSuffix(key, ".meta") {
				continue
			}
			line := key + " " + b.Redis("TYPE", key)
			if b.Redis("PTTL", key) != "-1" {
				line += " expires"
			}
			// The indexes of completions get their ranks later.
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
		b.do(err)
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
		b.do(err)
		var all []string
		for _, s := range scores {
			all = append(all, fmt.Sprintf("%s=%.0f", s.Member, s.Score))
		}
		return strings.Join(all, " ")
	}
	entries, err := b.DB.Do(b.Ctx, b.DB.B().Xrange().Key(key).Start("-").End("+").Build()).AsXRange()
	b.do(err)
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprint(e.ID, e.FieldValues))
	}
	return strings.Join(all, " | ")
}
