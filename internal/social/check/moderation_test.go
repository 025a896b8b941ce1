package check_test

import (
	"errors"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/check"
	"retwis/internal/social/layout"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
)

// A check finds roles, standings and reports that disagree, and repairs them.
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
	must(b.Reports.ReportUser(b.Ctx, ada, eve.ID, "spam", ""))
	must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	_, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "later", Password: socialtest.Password, Reason: "lakes"})
	if !errors.Is(err, social.ErrPending) {
		t.Fatal(err)
	}
	later, err := b.Users.UserByName(b.Ctx, "later")
	must(err)
	b.WantHealthy()
	for _, damage := range [][]string{
		{"HSET", layout.UserKey(ada.ID), "role", "owner"},
		{"HSET", layout.UserKey(eve.ID), "role", "owner"},
		{"HDEL", layout.UserKey(ada.ID), "role"},
		{"HSET", layout.Staff, "999", "owner"},
		{"ZREM", layout.Standings, layout.Itoa(carl.ID)},
		{"HDEL", layout.UserKey(carl.ID), "standing"},
		{"HSET", layout.UserKey(carl.ID), "standing", "limited"},
		{"ZADD", layout.Standings, "7", "999"},
		{"ZADD", layout.StandingEnds, "7", "999"},
		{"ZADD", layout.StandingEnds, "7", layout.Itoa(carl.ID)},
		{"DEL", layout.SignUps},
		{"ZADD", layout.SignUps, "7", "999"},
		{"ZADD", layout.SignUps, "7", layout.Itoa(carl.ID)},
		{"HDEL", layout.UserKey(later.ID), "signup"},
		{"DEL", layout.Reports, layout.Reports + ".content"},
	} {
		b.Redis(damage...)
		result, err := b.Check(check.Options{})
		must(err)
		if result.Problems+result.Leftovers == 0 {
			t.Errorf("after %q: no problem was found", damage)
		}
		_, err = check.Repair(b.Ctx, b.App, check.Options{})
		must(err)
		b.WantHealthy()
	}
	if _, err := b.Reports.TakeReport(b.Ctx, ada.Actor()); err != nil {
		t.Errorf("the report after the repair: %v", err)
	}
}
