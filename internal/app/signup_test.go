package app_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/moderation"
)

// TestSignUpModes checks who can sign up in each mode. Each account takes one use of an invitation.
func TestSignUpModes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	try := func(name, token string) error {
		_, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: name, Password: "correct horse battery", Invite: token})
		return err
	}
	if err := try("first", ""); err != nil {
		t.Fatalf("sign-up on an open site: %v", err)
	}
	token, created, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 2, For: time.Hour, Note: "friends"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpInvite); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"stranger", "", accounts.ErrNoInvite},
		{"stranger", "none", accounts.ErrNoInvite},
		{"first", token, social.ErrTaken}, // gives the use back
		{"second", token, nil},
		{"third", token, nil},
		{"fourth", token, accounts.ErrInviteUsedUp},
	} {
		if err := try(c.name, c.token); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if got := b.Redis("HVALS", "invites"); got == "" || b.Redis("HGET", "invites", token) != "" {
		t.Errorf("invites: %q, want no token in clear text", got)
	}
	late, _, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 1, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b.Clock.Advance(time.Hour)
	if err := try("late", late); !errors.Is(err, accounts.ErrInviteExpired) {
		t.Errorf("an expired invitation: %v, want ErrInviteExpired", err)
	}
	if _, err := b.SignUps.RevokeInvite(b.Ctx, social.Operator, created.ID); err != nil {
		t.Error(err)
	}
	if err := try("late", token); !errors.Is(err, accounts.ErrNoInvite) {
		t.Errorf("a revoked invitation: %v, want ErrNoInvite", err)
	}
	if err := b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpClosed); err != nil {
		t.Fatal(err)
	}
	if err := try("late", late); !errors.Is(err, social.ErrSignUpClosed) {
		t.Errorf("sign-up on a closed site: %v, want ErrSignUpClosed", err)
	}
	if _, err := b.Accounts.Register(b.Ctx, "byoperator", "correct horse battery"); err != nil {
		t.Errorf("Register on a closed site: %v", err)
	}
	b.WantHealthy()
}

// The invitations of a moderator are paused while the moderator may not invite people.
func TestInvitationsArePaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mona := b.NewUser("mona")
	role := func(role social.Role) { b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mona.ID, role, "")) }
	standing := func(standing social.Standing) {
		b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, mona.ID, moderation.StandingChange{Standing: standing}))
	}
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpInvite))
	role(social.Moderator)
	token, _, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{By: mona.ID, Uses: 10, For: time.Hour})
	b.must(err)
	for k, c := range []struct {
		change func()
		want   error
	}{
		{func() {}, nil},
		{func() { standing(social.Limited) }, nil},
		{func() { standing(social.Suspended) }, accounts.ErrNoInvite},
		{func() { standing(social.Good) }, nil},
		{func() { role(social.Member) }, accounts.ErrNoInvite},
		{func() { role(social.Admin) }, nil},
		// The admin's account is deleted before the invitations are.
		{func() { b.Redis("DEL", "user:"+strconv.FormatInt(mona.ID, 10)) }, accounts.ErrNoInvite},
	} {
		c.change()
		if _, err := b.SignUps.FindInvite(b.Ctx, token); !errors.Is(err, c.want) {
			t.Errorf("change %d: FindInvite: %v, want %v", k, err, c.want)
		}
		_, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: fmt.Sprint("guest", k), Password: "correct horse battery", Invite: token})
		if !errors.Is(err, c.want) {
			t.Errorf("change %d: SignUp: %v, want %v", k, err, c.want)
		}
		if all, err := b.SignUps.Invites(b.Ctx); err != nil || len(all) != 1 || all[0].Paused != (c.want != nil) {
			t.Errorf("change %d: Invites = %+v, %v; want one with Paused = %v", k, all, err, c.want != nil)
		}
	}
}

// If several people compete for the last use of an invitation, one of them gets it.
func TestLastUseOfAnInvitation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token, _, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 1, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpInvite); err != nil {
		t.Fatal(err)
	}
	var signedUp atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: fmt.Sprintf("guest%d", i), Password: "correct horse battery", Invite: token})
			switch {
			case err == nil:
				signedUp.Add(1)
			case !errors.Is(err, accounts.ErrInviteUsedUp):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if signedUp.Load() != 1 {
		t.Errorf("%d people signed up, want 1", signedUp.Load())
	}
}

// Names that resemble a role or a page of the site are refused.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"admin", "ADMIN", "adm1n", "_admin_", "Adrnin", "r00t", "Moderat0r", "5upport", "reTwIs", "login"} {
		var invalid *social.InvalidError
		if _, err := b.Accounts.Register(b.Ctx, name, "correct horse battery"); !errors.As(err, &invalid) || invalid.Field != "username" {
			t.Errorf("Register(%q): %v, want an InvalidError of username", name, err)
		}
	}
	for _, name := range []string{"administer", "roots", "modern", "ada1"} {
		if _, err := b.Accounts.Register(b.Ctx, name, "correct horse battery"); err != nil {
			t.Errorf("Register(%q): %v", name, err)
		}
	}
	if _, err := b.Accounts.RegisterReserved(b.Ctx, "admin", "correct horse battery"); err != nil {
		t.Errorf("RegisterReserved: %v", err)
	}
}

// A user whose network has recently signed up others is not listed among the latest users, but is
// otherwise a normal user.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	join := func(name string, unlisted bool) {
		t.Helper()
		if _, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: name, Password: "correct horse battery", Unlisted: unlisted}); err != nil {
			t.Fatal(err)
		}
		b.Clock.Advance(time.Second)
	}
	join("ada", false)
	join("ben", false)
	for i := range 6 {
		join(fmt.Sprint("robot", i), true)
	}
	latest, err := b.Users.LatestUsers(b.Ctx, &social.Viewer{}, 2)
	if err != nil || len(latest) != 2 || latest[0].Name != "ben" || latest[1].Name != "ada" {
		t.Errorf("latest users: %v, %v", latest, err)
	}
	if user, err := b.Users.UserByName(b.Ctx, "robot5"); err != nil || !user.Unlisted {
		t.Errorf("UserByName = %+v, %v; want an unlisted user", user, err)
	}
	if _, err := b.Auth.Login(b.Ctx, "robot5", "correct horse battery"); err != nil {
		t.Error(err)
	}
	b.WantHealthy()
}
