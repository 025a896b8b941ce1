package check_test

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/check"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// Check finds inconsistent roles, standings, sign-ups and reports, and Repair repairs them.
func TestModeration(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ada, carl, eve := b.NewUser("ada"), b.NewUser("carl"), b.NewUser("eve")
	must(b.Moderation.SetRole(b.Ctx, social.Operator, ada.ID, social.Moderator, ""))
	must(b.Moderation.SetStanding(b.Ctx, ada.Actor(), carl.ID, moderation.StandingChange{Standing: social.Suspended, Until: time.Now().Add(time.Hour)}))
	must(b.Reports.ReportUser(b.Ctx, ada, eve.ID, moderation.Reason{Kind: "spam"}))
	must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	_, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "later", Password: socialtest.Password, Reason: "lakes"})
	if !errors.Is(err, social.ErrPending) {
		t.Fatal(err)
	}
	later, err := b.Users.UserByName(b.Ctx, "later")
	must(err)
	b.WantHealthy()
	for _, damage := range [][]string{
		{"HSET", storage.UserKey(ada.ID), "role", "owner"},
		{"HSET", storage.UserKey(eve.ID), "role", "owner"},
		{"HDEL", storage.UserKey(ada.ID), "role"},
		{"HSET", storage.Staff, "999", "owner"},
		{"ZREM", storage.Standings, storage.Itoa(carl.ID)},
		{"HDEL", storage.UserKey(carl.ID), "standing"},
		{"HSET", storage.UserKey(carl.ID), "standing", "limited"},
		{"ZADD", storage.Standings, "7", "999"},
		{"ZADD", storage.StandingEnds, "7", "999"},
		{"ZADD", storage.StandingEnds, "7", storage.Itoa(carl.ID)},
		{"DEL", storage.SignUps},
		{"ZADD", storage.SignUps, "7", "999"},
		{"ZADD", storage.SignUps, "7", storage.Itoa(carl.ID)},
		{"HDEL", storage.UserKey(later.ID), "signup"},
		{"DEL", storage.Reports, storage.Reports + ".content"},
	} {
		b.Redis(damage...)
		result, err := b.Check(check.Options{})
		must(err)
		if result.Problems+result.Leftovers == 0 {
			t.Errorf("check found no problem after %q", damage)
		}
		_, err = check.Repair(b.Ctx, b.App, check.Options{})
		must(err)
		b.WantHealthy()
	}
	if _, err := b.Reports.TakeReport(b.Ctx, ada.Actor()); err != nil {
		t.Errorf("TakeReport after the repair: %v", err)
	}
}
